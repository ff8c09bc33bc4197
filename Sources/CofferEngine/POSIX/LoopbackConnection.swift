package import CofferBase
import Glibc
import SystemPackage

/// A TCP connection between two programs on this machine, which is closed when this object is released. No
/// call blocks, except ``waitForInput(milliseconds:)``.
package final class LoopbackConnection: Sendable {
    private let descriptor: Descriptor

    var raw: CInt { descriptor.raw }

    init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

    /// Connects to a program on this machine, which must listen already.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - port: The port.
    ///   - deadline: The maximum time.
    /// - Returns: The connection.
    /// - Throws: `timedOut`; `inputOutput` if no program listens.
    package static func connecting(
        to address: LoopbackAddress, port: UInt16, deadline: Duration
    ) throws(CofferError) -> LoopbackConnection {
        let descriptor = try address.makeSocket()
        let raw = descriptor.raw
        let end = Clock.sinceBoot + deadline
        let status = unsafe address.withSocketAddress(port: port) { unsafe connect(raw, $0, $1) }
        guard status == 0 || Errno.current == EINPROGRESS || Errno.current == EINTR else {
            throw Errno.failure("connect to \(address.literal):\(port)", nil)
        }
        var polled = pollfd(fd: raw, events: Int16(POLLOUT), revents: 0)
        while status != 0, unsafe poll(&polled, 1, 50) <= 0 {
            guard Clock.sinceBoot < end else {
                throw CofferError(.timedOut, "No connection to \(address.literal):\(port) came about.")
            }
        }
        var number: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        _ = unsafe getsockopt(raw, SOL_SOCKET, SO_ERROR, &number, &size)
        guard number == 0 else {
            throw Errno.failure("connect to \(address.literal):\(port)", nil, errno: number)
        }
        return LoopbackConnection(descriptor)
    }

    /// The result of reading.
    package enum Received: Sendable, Equatable {
        /// This many bytes were read.
        case bytes(Int)
        /// There are no bytes now.
        case nothing
        /// The other side sends no more bytes, or has broken the connection.
        case end
    }

    /// Reads the bytes that have arrived.
    ///
    /// - Parameter buffer: The destination, which must not be empty.
    /// - Returns: The number of bytes at the beginning of the buffer, or why there are none.
    package func read(into buffer: inout MutableSpan<UInt8>) -> Received {
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes {
                unsafe recv(descriptor.raw, $0.baseAddress, $0.count, 0)
            }
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            switch Errno.current {
            case EINTR: continue
            case EAGAIN: return .nothing
            default: return .end
            }
        }
    }

    /// Writes as many bytes as the connection accepts now.
    ///
    /// - Parameter bytes: The bytes.
    /// - Returns: The number of bytes written, or `nil` if the other side has broken the connection.
    package func write(_ bytes: Span<UInt8>) -> Int? {
        while true {
            // MSG_NOSIGNAL: a broken connection is an error and no signal.
            let count = unsafe bytes.withUnsafeBytes {
                unsafe send(descriptor.raw, $0.baseAddress, $0.count, 0x4000)
            }
            if count >= 0 { return count }
            switch Errno.current {
            case EINTR: continue
            case EAGAIN: return 0
            default: return nil
            }
        }
    }

    /// Tells the other side that no more bytes come. Reading remains possible.
    package func finishWriting() { _ = shutdown(descriptor.raw, CInt(SHUT_WR)) }

    /// Waits until there are bytes to read or the other side has ended, but no longer than `milliseconds`.
    ///
    /// - Parameter milliseconds: The maximum time.
    /// - Returns: Whether there is something to read, or the end.
    /// - Throws: `inputOutput` if the system call fails.
    package func waitForInput(milliseconds: Int32) throws(CofferError) -> Bool {
        try descriptor.waitForInput(milliseconds: milliseconds)
    }
}
