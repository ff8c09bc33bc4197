import CofferBase
import Glibc
import SystemPackage

/// An address of this machine that no other machine can reach.
package enum LoopbackAddress: Sendable, CaseIterable {
    /// 127.0.0.1.
    case ipv4
    /// ::1.
    case ipv6

    /// The address as a URL contains it.
    package var literal: String {
        switch self {
        case .ipv4: "127.0.0.1"
        case .ipv6: "[::1]"
        }
    }

    /// Creates a TCP socket that does not block and that child processes do not inherit.
    func makeSocket() throws(CofferError) -> Descriptor {
        let family = self == .ipv4 ? AF_INET : AF_INET6
        // SOCK_NONBLOCK and SOCK_CLOEXEC have the values of these flags.
        let raw = socket(family, CInt(SOCK_STREAM.rawValue) | O_NONBLOCK | O_CLOEXEC, 0)
        guard raw >= 0 else {
            guard Errno.current == EAFNOSUPPORT else { throw Errno.failure("create a socket", nil) }
            throw CofferError(
                .unsupported, "This machine does not have the address \(literal).",
                systemError: EAFNOSUPPORT)
        }
        return Descriptor(raw: raw, path: "socket")
    }

    /// Calls `body` with the address and `port` as the system calls expect them.
    func withSocketAddress(
        port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) -> CInt {
        switch self {
        case .ipv4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            return unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        case .ipv6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            unsafe withUnsafeMutableBytes(of: &address.sin6_addr) { unsafe $0[15] = 1 }
            return unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe body($0, socklen_t(MemoryLayout<sockaddr_in6>.size))
                }
            }
        }
    }

    /// Returns the port that the kernel chose for a socket.
    func port(of descriptor: borrowing Descriptor) throws(CofferError) -> UInt16 {
        // The port is at the same place in both kinds of addresses.
        var address = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let raw = descriptor.raw
        let status = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(raw, $0, &size)
            }
        }
        guard status == 0 else { throw Errno.failure("find the port of a socket", nil) }
        return UInt16(bigEndian: address.sin6_port)
    }
}
