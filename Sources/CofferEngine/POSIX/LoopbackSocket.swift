package import CofferBase
import CLinux
import Glibc
import SystemPackage

/// A listening TCP socket that only programs on this machine can reach.
///
/// The socket is not inherited by child processes, and no call on it blocks. It does not share its port:
/// without `SO_REUSEPORT`, no other process can listen on the same address and port.
package struct LoopbackSocket: ~Copyable, Sendable {
    private let descriptor: Descriptor

    /// The address on which the socket listens.
    package let address: LoopbackAddress
    /// The port on which the socket listens.
    package let port: UInt16

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - port: The port, or 0 for any free port.
    /// - Returns: The listening socket.
    /// - Throws: `busy` if another program listens on the port; `permissionDenied` if the port is reserved;
    ///   `unsupported` if this machine does not have the address.
    package static func listening(
        on address: LoopbackAddress, port: UInt16 = 0
    ) throws(CofferError) -> LoopbackSocket {
        let descriptor = try address.makeSocket()
        let raw = descriptor.raw
        // Connections of an earlier sign-in that are still closing would otherwise reserve a fixed port. On
        // Linux, this option does not let two sockets listen on one port.
        var on: CInt = 1
        let size = socklen_t(MemoryLayout<CInt>.size)
        guard unsafe setsockopt(raw, SOL_SOCKET, SO_REUSEADDR, &on, size) == 0 else {
            throw Errno.failure("prepare a socket", nil)
        }
        let isBound = unsafe address.withSocketAddress(port: port) { unsafe bind(raw, $0, $1) }
        guard isBound == 0, Glibc.listen(raw, 32) == 0 else {
            throw notListening(address, port, Errno.current)
        }
        let chosen = port == 0 ? try address.port(of: descriptor) : port
        return LoopbackSocket(descriptor: descriptor, address: address, port: chosen)
    }

    private static func notListening(
        _ address: LoopbackAddress, _ port: UInt16, _ number: Int32
    ) -> CofferError {
        let place = "\(address.literal):\(port)"
        switch number {
        case EADDRINUSE:
            return CofferError(.busy, "Another program uses the address \(place).", systemError: number)
        case EADDRNOTAVAIL:
            return CofferError(
                .unsupported, "This machine does not have the address \(address.literal).",
                systemError: number)
        default: return Errno.failure("listen on \(place)", nil, errno: number)
        }
    }

    /// Returns the next connection that waits to be accepted, or `nil` if there is none. If the process or
    /// the system lacks descriptors or memory, the result is also `nil`, and the connection goes on waiting.
    package func accept() throws(CofferError) -> LoopbackConnection? {
        let raw = clinux_accept(descriptor.raw)
        if raw >= 0 {
            return LoopbackConnection(Descriptor(raw: raw, path: "connection"))
        }
        switch Errno.current {
        // The other side has closed the connection before it was accepted: the caller waits again.
        case EAGAIN, EINTR, ECONNABORTED, EPROTO: return nil
        // A shortage passes, and a sign-in must survive it: any page in the browser can open connections.
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: return nil
        default: throw Errno.failure("accept a connection", nil)
        }
    }

    /// The sockets on which the next call does not wait.
    package struct Ready: Sendable {
        /// Whether a connection waits to be accepted.
        package let hasConnection: Bool
        /// For each connection, in the given order, whether it has input, can be written to or has ended.
        package let connections: [Bool]
    }

    /// Waits until a connection arrives or one of the existing connections is ready, but no longer than
    /// `milliseconds`. A signal ends the wait early.
    ///
    /// - Parameters:
    ///   - connections: The connections, and whether the caller wants to write to them instead of reading.
    ///   - milliseconds: The maximum time.
    ///   - acceptsConnections: Whether an arriving connection ends the wait.
    /// - Returns: The sockets that are ready; none after the maximum time.
    /// - Throws: `inputOutput` or `outOfMemory` if the system call fails.
    package func wait(
        for connections: [(connection: LoopbackConnection, writes: Bool)], milliseconds: Int32,
        acceptsConnections: Bool = true
    ) throws(CofferError) -> Ready {
        // The system call passes over a negative number.
        let listening = acceptsConnections ? descriptor.raw : -1
        var polls = [pollfd(fd: listening, events: Int16(POLLIN), revents: 0)]
        for (connection, writes) in connections {
            polls.append(
                pollfd(fd: connection.raw, events: Int16(writes ? POLLOUT : POLLIN), revents: 0))
        }
        let count = unsafe polls.withUnsafeMutableBufferPointer { buffer in
            unsafe poll(buffer.baseAddress, nfds_t(buffer.count), max(0, milliseconds))
        }
        guard count >= 0 || Errno.current == EINTR else { throw Errno.failure("wait for", "connection") }
        let isReady = polls.map { count > 0 && $0.revents != 0 }
        return Ready(hasConnection: isReady[0], connections: Array(isReady.dropFirst()))
    }
}
