package import CofferBase
import Glibc
package import SystemPackage

/// A connection on a Unix-domain socket, which is closed when this object is released. Every call has a
/// deadline.
package final class LocalConnection: Sendable {
    private let descriptor: Descriptor

    init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

    /// Connects to the program that listens at a path.
    ///
    /// - Throws: `absent` if there is no socket; `inputOutput` if no program listens.
    package static func connecting(to path: FilePath) throws(CofferError) -> LocalConnection {
        let descriptor = try LocalSocket.make()
        let status = unsafe try LocalSocket.withAddress(path) { unsafe connect(descriptor.raw, $0, $1) }
        guard status == 0 else { throw Errno.failure("connect to", path) }
        return LocalConnection(descriptor)
    }

    /// Whether the program at the other end belonged to this process's user when it connected. The kernel
    /// answers this (`SO_PEERCRED`), so the program cannot claim another user.
    package var isOfThisUser: Bool {
        // The members of ucred: process, user and group.
        var credentials: [UInt32] = [0, .max, .max]
        var size = socklen_t(12)
        let status = unsafe getsockopt(descriptor.raw, SOL_SOCKET, SO_PEERCRED, &credentials, &size)
        return status == 0 && size == 12 && credentials[1] == geteuid()
    }

    /// Ends the connection for both sides, also while another thread waits in a call on it.
    package func shutDown() { _ = shutdown(descriptor.raw, CInt(SHUT_RDWR)) }

    /// Waits for input or the end. Returns whether there is one of them before `end`; `nil` for no limit.
    package func waitForInput(until end: Duration?) throws(CofferError) -> Bool {
        try wait(for: POLLIN, until: end)
    }

    /// Fills the buffer from an offset to its end.
    ///
    /// - Parameters:
    ///   - buffer: The destination.
    ///   - start: The offset.
    ///   - end: The time since the start of the machine until which to wait.
    /// - Returns: Whether the buffer is full; `false` if the other side ended first.
    /// - Throws: `timedOut`.
    package func read(
        into buffer: inout MutableSpan<UInt8>, from start: Int = 0, until end: Duration
    ) throws(CofferError) -> Bool {
        var done = start
        while done < buffer.count {
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe recv(
                    descriptor.raw, bytes.baseAddress.map { unsafe $0 + done }, bytes.count - done, 0)
            }
            if count > 0 {
                done += count
            } else if count == 0 {
                return false
            } else if Errno.current == EAGAIN {
                guard try wait(for: POLLIN, until: end) else { throw Self.timedOut }
            } else if Errno.current != EINTR {
                return false
            }
        }
        return true
    }

    /// Writes all bytes.
    ///
    /// - Returns: Whether they were written; `false` if the other side has ended.
    /// - Throws: `timedOut`, if the other side does not read.
    package func write(_ bytes: Span<UInt8>, until end: Duration) throws(CofferError) -> Bool {
        var done = 0
        while done < bytes.count {
            // MSG_NOSIGNAL: a broken connection is an error and no signal.
            let count = unsafe bytes.withUnsafeBytes { bytes in
                unsafe send(
                    descriptor.raw, bytes.baseAddress.map { unsafe $0 + done }, bytes.count - done, 0x4000)
            }
            if count >= 0 {
                done += count
            } else if Errno.current == EAGAIN {
                guard try wait(for: POLLOUT, until: end) else { throw Self.timedOut }
            } else if Errno.current != EINTR {
                return false
            }
        }
        return true
    }

    private static var timedOut: CofferError {
        CofferError(.timedOut, "The other program did not go on with its message.")
    }

    private func wait(for events: Int32, until end: Duration?) throws(CofferError) -> Bool {
        while true {
            var polled = pollfd(fd: descriptor.raw, events: Int16(events), revents: 0)
            let left = end.map { $0 - Clock.sinceBoot }
            if let left, left <= .zero { return false }
            let milliseconds = left.map { Int32(clamping: Int64($0 / .milliseconds(1)) + 1) } ?? -1
            let count = unsafe poll(&polled, 1, milliseconds)
            if count > 0 { return true }
            guard count == 0 || Errno.current == EINTR else { throw Errno.failure("wait for", "connection") }
        }
    }
}
