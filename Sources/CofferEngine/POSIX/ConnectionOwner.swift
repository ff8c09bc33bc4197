import CofferBase
import Glibc
import SystemPackage

/// The user whose program holds the other end of a connection between two programs on this machine.
package enum ConnectionOwner: Sendable, Equatable {
    /// The program of the user with this number.
    case user(UInt32)
    /// No program holds that end any more, so nobody reads an answer.
    case gone
    /// The kernel does not say it to this process.
    case unknown

    /// Whether the other end may belong to this process's user or to root, who could do all that this process
    /// can. On some systems, a program of root passes on the connections of the user's browser.
    package var mayBeOwn: Bool {
        switch self {
        case .user(let number): number == 0 || number == geteuid()
        case .gone: false
        case .unknown: true
        }
    }
}

extension LoopbackConnection {
    private static let tables: [FilePath] = ["/proc/net/tcp", "/proc/net/tcp6"]
    private static let maxTableByteCount = 64 << 20

    /// The user whose program holds the other end, from the kernel's tables of sockets.
    package var peerOwner: ConnectionOwner {
        guard let own = end(isPeer: false), let peer = end(isPeer: true) else { return .gone }
        // The kernel does not freeze its tables while they are read, so an end can be missed once.
        let first = Self.owner(own, peer)
        return first == .gone ? Self.owner(own, peer) : first
    }

    private static func owner(_ own: SocketEnd, _ peer: SocketEnd) -> ConnectionOwner {
        var search = SocketSearch(own: own, peer: peer)
        for table in tables {
            // Without IPv6, there is one table only.
            guard let file = try? Descriptor.open(table, [.read, .nonBlocking]) else { continue }
            search.startTable()
            var rest: [UInt8] = []
            var total = 0
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                var span = buffer.mutableSpan
                let found: Int?
                do throws(CofferError) {
                    found = try file.readSome(into: &span)
                } catch {
                    return .unknown
                }
                guard let count = found else { break }
                total += count
                // Whoever opens so many connections must not be taken for a missing table.
                guard total <= maxTableByteCount else { return .gone }
                rest += buffer[..<count]
                guard let end = rest.lastIndex(of: UInt8(ascii: "\n")) else { continue }
                for line in rest[..<end].split(separator: UInt8(ascii: "\n")) { search.read(line) }
                rest.removeSubrange(...end)
            }
            if !rest.isEmpty { search.read(rest[...]) }
        }
        return search.owner
    }

    private func end(isPeer: Bool) -> SocketEnd? {
        var address = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let raw = self.raw
        let status = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe isPeer ? getpeername(raw, $0, &size) : getsockname(raw, $0, &size)
            }
        }
        guard status == 0 else { return nil }
        let bytes = unsafe withUnsafeBytes(of: &address) { unsafe [UInt8]($0) }
        // The address stands after the port, in IPv6 after the flow label, too.
        let place = CInt(address.sin6_family) == AF_INET ? 4..<8 : 8..<24
        return SocketEnd(address: Array(bytes[place]), port: UInt16(bigEndian: address.sin6_port))
    }
}
