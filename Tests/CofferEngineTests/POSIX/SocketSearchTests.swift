import CofferEngine
import Glibc
import Testing

@Suite("The search for a connection's owner in the kernel's tables")
struct SocketSearchTests {
    private static let header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt"
    private static let rest = "01 00000000:00000000 00:00000000 00000000"
    private static let own = line("0100007F:1F90", "0200007F:C350", user: "1000", inode: "77")
    /// The client's address as an IPv6 socket has it.
    private static let mapped = "0000000000000000FFFF0000"

    private static func line(_ local: String, _ remote: String, user: String, inode: String) -> String {
        "   0: \(local) \(remote) \(rest) \(user)        0 \(inode) 1 0000000000000000 20 4 30 10 -1"
    }

    private static func client(user: String, inode: String = "78") -> String {
        line("0200007F:C350", "0100007F:1F90", user: user, inode: inode)
    }

    /// Searches tables for the connection from 127.0.0.2:50000 to 127.0.0.1:8080.
    private func owner(_ tables: [String]...) -> ConnectionOwner {
        var search = SocketSearch(
            own: SocketEnd(address: [127, 0, 0, 1], port: 8080),
            peer: SocketEnd(address: [127, 0, 0, 2], port: 50_000))
        for table in tables {
            search.startTable()
            for line in table { search.read(Array(line.utf8)[...]) }
        }
        return search.owner
    }

    @Test("The user of the other end is found among other lines and in the other table")
    func found() {
        let other = Self.line("0200007F:C351", "0100007F:1F90", user: "7", inode: "79")
        #expect(
            owner([Self.header, other, Self.own, Self.client(user: "65534")], [Self.header]) == .user(65534))
        let six = Self.line(
            Self.mapped + "0200007F:C350", Self.mapped + "0100007F:1F90", user: "5", inode: "80")
        #expect(owner([Self.header, Self.own], [Self.header, six]) == .user(5))
    }

    @Test("An end that nobody holds, or that two lines contradict, is gone")
    func gone() {
        #expect(owner([Self.header, Self.own]) == .gone)
        #expect(owner([Self.header, Self.own, Self.client(user: "0", inode: "0")]) == .gone)
        #expect(owner([Self.header, Self.own, Self.client(user: "1"), Self.client(user: "2")]) == .gone)
    }

    @Test("A table without this end, and one of another form, say nothing")
    func unknown() {
        #expect(owner() == .unknown)
        #expect(owner([Self.header, Self.client(user: "1")]) == .unknown)
        #expect(owner(["sl", Self.own, Self.client(user: "1")]) == .unknown)
        let words = Self.client(user: "1").split(separator: " ").map { String($0) }
        for (place, word) in [
            (0, "0"), (1, "0200007F"), (1, "0200007F:C3500"), (1, "200007F:C350"), (1, "0200007G:C350"),
            (2, Self.mapped + "0100007F:1F90"), (7, "-1"), (7, "4294967296"), (7, "1x"), (9, "x"),
        ] {
            var changed = words
            changed[place] = word
            let line = changed.joined(separator: " ")
            #expect(owner([Self.header, Self.own, line]) == .unknown, "\(line)")
        }
        let short = words.prefix(9).joined(separator: " ")
        #expect(owner([Self.header, Self.own, short]) == .unknown)
    }

    @Test("An IPv6 address is written in groups of four bytes")
    func six() {
        let address = [UInt8](repeating: 0, count: 15) + [1]
        var search = SocketSearch(
            own: SocketEnd(address: address, port: 1), peer: SocketEnd(address: address, port: 2))
        let text = "00000000000000000000000001000000"
        search.startTable()
        for line in [
            Self.header, Self.line(text + ":0001", text + ":0002", user: "1", inode: "2"),
            Self.line(text + ":0002", text + ":0001", user: "3", inode: "4"),
        ] {
            search.read(Array(line.utf8)[...])
        }
        #expect(search.owner == .user(3))
    }

    @Test("Root's program and this user's may be the browser, another user's may not")
    func own() {
        #expect(ConnectionOwner.user(geteuid()).mayBeOwn && ConnectionOwner.user(0).mayBeOwn)
        #expect(!ConnectionOwner.user(geteuid() + 1).mayBeOwn && !ConnectionOwner.gone.mayBeOwn)
        #expect(ConnectionOwner.unknown.mayBeOwn)
    }
}
