import CofferBase

/// One end of a TCP connection.
package struct SocketEnd: Sendable {
    /// The address as the kernel's tables write it: each group of four bytes as one number of this machine.
    fileprivate let text: [UInt8]
    /// The same of the IPv6 form of an IPv4 address, which a program with an IPv6 socket has.
    fileprivate let mapped: [UInt8]

    /// Creates an end.
    ///
    /// - Parameters:
    ///   - address: The 4 or 16 bytes of the address.
    ///   - port: The port.
    package init(address: [UInt8], port: UInt16) {
        let port = ":" + Self.hexadecimal(UInt32(port), digits: 4)
        func text(_ address: [UInt8]) -> [UInt8] {
            let groups = stride(from: 0, to: address.count - 3, by: 4).map { start in
                let number = (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(address[start + $1]) }
                return Self.hexadecimal(UInt32(bigEndian: number), digits: 8)
            }
            return Array((groups.joined() + port).utf8)
        }
        self.text = text(address)
        let prefix = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
        mapped = address.count == 4 ? text(prefix + address) : self.text
    }

    private static func hexadecimal(_ number: UInt32, digits: Int) -> String {
        let text = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: digits - text.utf8.count) + text
    }
}

/// The search for both ends of a connection in the tables /proc/net/tcp and /proc/net/tcp6, whose form is
/// documented in proc(5).
package struct SocketSearch {
    private let own: SocketEnd
    private let peer: SocketEnd
    private var isHeader = false
    private var isMalformed = false
    private var hasOwn = false
    private var owners: [ConnectionOwner] = []

    /// Creates a search.
    ///
    /// - Parameters:
    ///   - own: This process's end.
    ///   - peer: The other end.
    package init(own: SocketEnd, peer: SocketEnd) {
        self.own = own
        self.peer = peer
    }

    /// Begins a table: the next line is its header.
    package mutating func startTable() { isHeader = true }

    /// Reads the next line, without its newline.
    package mutating func read(_ line: ArraySlice<UInt8>) {
        let words = line.split(separator: UInt8(ascii: " "))
        guard !isHeader else {
            isHeader = false
            let isKnown =
                words.count >= 2 && words[0].elementsEqual("sl".utf8)
                && words[1].elementsEqual("local_address".utf8)
            if !isKnown { isMalformed = true }
            return
        }
        guard words.count >= 10, words[0].last == UInt8(ascii: ":"), Self.isEnd(words[1]),
            Self.isEnd(words[2]), words[1].count == words[2].count,
            let user = Self.decimal(words[7]).flatMap({ UInt32(exactly: $0) }),
            let inode = Self.decimal(words[9])
        else {
            isMalformed = true
            return
        }
        if Self.isMatch(words[1], words[2], own, peer) { hasOwn = true }
        guard Self.isMatch(words[1], words[2], peer, own) else { return }
        // A socket that its program has closed has no inode, and its user is then always written as 0.
        owners.append(inode == 0 ? .gone : .user(user))
    }

    /// The result after the last line.
    ///
    /// Tables without this process's own end say nothing about the other one: they are another network's.
    package var owner: ConnectionOwner {
        guard hasOwn, !isMalformed else { return .unknown }
        guard let first = owners.first else { return .gone }
        // Two entries for one end contradict each other, unless they say the same.
        return owners.allSatisfy { $0 == first } ? first : .gone
    }

    private static func isMatch(
        _ local: ArraySlice<UInt8>, _ remote: ArraySlice<UInt8>, _ first: SocketEnd, _ second: SocketEnd
    ) -> Bool {
        (local == first.text[...] && remote == second.text[...])
            || (local == first.mapped[...] && remote == second.mapped[...])
    }

    /// Whether a word is an address and a port: 8 or 32 hexadecimal digits, a colon, 4 digits.
    private static func isEnd(_ word: ArraySlice<UInt8>) -> Bool {
        let parts = word.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 2, [8, 32].contains(parts[0].count), parts[1].count == 4 else { return false }
        return parts.allSatisfy { part in part.allSatisfy { $0.hexDigit != nil } }
    }

    private static func decimal(_ word: ArraySlice<UInt8>) -> UInt64? {
        guard word.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return UInt64(String(decoding: word, as: UTF8.self))
    }
}
