package import CofferBase
import CLinux
import Glibc
package import SystemPackage

/// A listening Unix-domain socket, on which only programs on this machine can connect.
///
/// The socket is not inherited by child processes, and no call on it blocks, except ``wait(milliseconds:)``.
package final class LocalSocket: Sendable {
    private let descriptor: Descriptor
    /// The socket's file, with its status when it was created; `nil` if a service manager owns it.
    private let file: (path: FilePath, status: FileStatus)?

    private init(_ descriptor: consuming Descriptor, file: (path: FilePath, status: FileStatus)?) {
        self.descriptor = descriptor
        self.file = file
    }

    /// The maximum length of a socket's path in bytes, without the zero byte at its end.
    package static let longestPath = 107

    /// Starts listening at a path. The socket's file belongs to this user alone (mode 0600).
    ///
    /// A socket file on which no program listens any more is replaced. Nothing else is.
    ///
    /// - Parameter path: The path of the socket's file.
    /// - Returns: The listening socket.
    /// - Throws: `busy` if a program listens there; `alreadyExists` if there is a file that is not a socket;
    ///   `invalidInput` if the path is longer than ``longestPath``; the system's error.
    package static func listening(at path: FilePath) throws(CofferError) -> LocalSocket {
        // Of programs that find the same abandoned socket, each would remove it, and the later ones would
        // remove the socket of the first. Another user can keep a shared directory locked, so nobody waits
        // longer than this.
        let lock = try? FileLock.acquire(directory: directory(of: path), deadline: .seconds(5))
        defer { withExtendedLifetime(lock) {} }
        try removeAbandoned(path)
        let descriptor = try make()
        // The mode is set before the file has its name: bind applies the mode of the socket and the mask.
        guard fchmod(descriptor.raw, 0o600) == 0 else { throw Errno.failure("prepare a socket", nil) }
        let status = unsafe try withAddress(path) { unsafe bind(descriptor.raw, $0, $1) }
        guard status == 0 else {
            let number = Errno.current
            guard number != EADDRINUSE else {
                throw CofferError(.busy, "Another program listens at \(path).", systemError: number)
            }
            throw Errno.failure("listen at", path, errno: number)
        }
        guard unsafe path.withPlatformString({ unsafe chmod($0, 0o600) }) == 0,
            Glibc.listen(descriptor.raw, 64) == 0
        else { throw Errno.failure("listen at", path) }
        guard let created = try fileStatus(of: path) else {
            throw CofferError(.conflict, "Another program removed the socket \(path).")
        }
        return LocalSocket(descriptor, file: (path, created))
    }

    /// Takes ownership of a listening socket that a service manager has passed to this process.
    ///
    /// - Parameter number: The descriptor's number.
    /// - Returns: The listening socket.
    /// - Throws: `invalidInput` if it is not a listening Unix-domain socket.
    package static func adopting(_ number: Int32) throws(CofferError) -> LocalSocket {
        let descriptor = try Descriptor.adopting(number)
        var (family, listens): (CInt, CInt) = (0, 0)
        var size = socklen_t(MemoryLayout<CInt>.size)
        let isSocket =
            unsafe getsockopt(number, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0
            && getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0
        guard isSocket, family == AF_UNIX, listens == 1,
            clinux_fcntl(number, F_SETFL, CLong(O_NONBLOCK)) == 0
        else {
            throw CofferError(
                .invalidInput, "File descriptor \(number) is not a listening Unix-domain socket.")
        }
        return LocalSocket(descriptor, file: nil)
    }

    /// Ends the waiting for connections in this process. A service manager's socket goes on listening.
    package func shutDown() {
        if file != nil { _ = shutdown(descriptor.raw, CInt(SHUT_RDWR)) }
    }

    /// Removes the socket's file, if it is still the one that this object created.
    package func removeFile() {
        guard let file, (try? Self.fileStatus(of: file.path)) == file.status else { return }
        _ = unsafe file.path.withPlatformString { unsafe unlink($0) }
    }

    /// Waits until a connection arrives, but no longer than `milliseconds`. A signal ends the wait early.
    package func wait(milliseconds: Int32) throws(CofferError) -> Bool {
        try descriptor.waitForInput(milliseconds: milliseconds)
    }

    /// Returns the next connection that waits to be accepted; `nil` if there is none, or if the process or
    /// the system lacks descriptors or memory, in which case the connection goes on waiting.
    package func accept() throws(CofferError) -> LocalConnection? {
        let raw = clinux_accept(descriptor.raw)
        if raw >= 0 { return LocalConnection(Descriptor(raw: raw, path: "connection")) }
        switch Errno.current {
        case EAGAIN, EINTR, ECONNABORTED, EPROTO, EMFILE, ENFILE, ENOBUFS, ENOMEM: return nil
        default: throw Errno.failure("accept a connection", nil)
        }
    }

    // MARK: Addresses

    static func make() throws(CofferError) -> Descriptor {
        // SOCK_CLOEXEC and SOCK_NONBLOCK have the values of the flags of open.
        let kind = CInt(SOCK_STREAM.rawValue) | O_CLOEXEC | O_NONBLOCK
        let raw = socket(AF_UNIX, kind, 0)
        guard raw >= 0 else { throw Errno.failure("create a socket", nil) }
        return Descriptor(raw: raw, path: "socket")
    }

    static func withAddress(
        _ path: FilePath, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) throws(CofferError) -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let isCopied = unsafe path.withPlatformString { text in
            unsafe withUnsafeMutableBytes(of: &address.sun_path) { target in
                let count = unsafe strlen(text)
                guard 1...longestPath ~= count else { return false }
                unsafe target.copyMemory(from: UnsafeRawBufferPointer(start: text, count: count))
                return true
            }
        }
        guard isCopied else {
            throw CofferError(
                .invalidInput,
                "The path of a socket must be 1 to \(longestPath) bytes long. Choose a shorter path.")
        }
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    private static func fileStatus(of path: FilePath) throws(CofferError) -> FileStatus? {
        guard let name = path.lastComponent else { return nil }
        return try directory(of: path).status(of: FilePath(root: nil, [name]))
    }

    private static func directory(of path: FilePath) throws(CofferError) -> Descriptor {
        let parent = path.removingLastComponent()
        return try Descriptor.open(parent.isEmpty ? "." : parent, [.read, .directory])
    }

    private static func removeAbandoned(_ path: FilePath) throws(CofferError) {
        guard let status = try fileStatus(of: path) else { return }
        guard status.kind == .socket, status.isOwn else {
            throw CofferError(
                .alreadyExists, "\(path) already exists and is not a socket. Choose another path.")
        }
        let probe = try make()
        let connected = unsafe try withAddress(path) { unsafe connect(probe.raw, $0, $1) }
        guard connected != 0, Errno.current == ECONNREFUSED else {
            throw CofferError(.busy, "Another program listens at \(path).")
        }
        _ = unsafe path.withPlatformString { unsafe unlink($0) }
    }
}
