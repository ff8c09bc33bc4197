package import CofferBase
import Glibc
import CLinux
package import SystemPackage

/// The only owner of an open file or directory, which is closed when the owner is destroyed.
///
/// Every file is opened with `O_CLOEXEC`, so that no child process inherits the descriptor by accident.
package struct Descriptor: ~Copyable, Sendable {
    private(set) var raw: CInt

    /// The path by which the file was opened, for use in messages.
    package let path: FilePath

    init(raw: CInt, path: FilePath) {
        self.raw = raw
        self.path = path
    }

    deinit { if raw >= 0 { _ = Glibc.close(raw) } }

    /// The options for opening a file.
    package struct Mode: OptionSet, Sendable {
        package let rawValue: CInt
        package init(rawValue: CInt) { self.rawValue = rawValue }

        package static let read = Mode(rawValue: O_RDONLY)
        package static let readWrite = Mode(rawValue: O_RDWR)
        package static let create = Mode(rawValue: O_CREAT)
        package static let exclusive = Mode(rawValue: O_CREAT | O_EXCL)
        package static let directory = Mode(rawValue: O_DIRECTORY)
        package static let noFollow = Mode(rawValue: O_NOFOLLOW)
        /// Opens without blocking. Otherwise, opening a pipe or a device could block forever.
        package static let nonBlocking = Mode(rawValue: O_NONBLOCK)
    }

    /// Opens the file at `path`. A new file can be read only by its owner.
    package static func open(_ path: FilePath, _ mode: Mode) throws(CofferError) -> Descriptor {
        try open(path, mode, base: AT_FDCWD, shown: path)
    }

    /// Opens `name` relative to this directory, never through a symbolic link, and without blocking if
    /// another program has put a pipe in its place.
    package func open(_ name: FilePath, _ mode: Mode) throws(CofferError) -> Descriptor {
        try Self.open(name, mode.union([.noFollow, .nonBlocking]), base: raw, shown: path.pushing(name))
    }

    private static func open(
        _ name: FilePath, _ mode: Mode, base: CInt, shown: FilePath
    ) throws(CofferError) -> Descriptor {
        let raw = unsafe name.withPlatformString { name in
            Errno.uninterrupted { unsafe clinux_openat(base, name, mode.rawValue | O_CLOEXEC, 0o600) }
        }
        guard raw >= 0 else { throw Errno.failure("open", shown) }
        return Descriptor(raw: raw, path: shown)
    }

    /// Takes ownership of a descriptor whose number this process received.
    package static func adopting(_ number: Int32) throws(CofferError) -> Descriptor {
        guard clinux_fcntl(number, F_GETFD, 0) >= 0 else {
            throw CofferError(.invalidInput, "File descriptor \(number) is not open.")
        }
        _ = clinux_fcntl(number, F_SETFD, CLong(FD_CLOEXEC))
        return Descriptor(raw: number, path: "descriptor")
    }

    /// Returns a second descriptor for the same open file.
    package func duplicate() throws(CofferError) -> Descriptor {
        let copy = clinux_fcntl(raw, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw Errno.failure("duplicate", path) }
        return Descriptor(raw: copy, path: path)
    }

    /// Closes the file and throws any error from `close`, because some file systems do not report a full disk
    /// before that call.
    package consuming func close() throws(CofferError) {
        let closing = raw
        raw = -1
        // EINTR from close on Linux means closed; any other failure means that data may be lost.
        if Glibc.close(closing) != 0, Errno.current != EINTR { throw Errno.failure("close", path) }
    }
}

extension Descriptor {
    /// Reads from `offset` until `buffer` is full or the file ends. Returns the number of bytes read.
    package func read(at offset: Int64, into buffer: inout MutableSpan<UInt8>) throws(CofferError) -> Int {
        try transfer(buffer.count, "read") { done in
            unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe pread(
                    raw, bytes.baseAddress.map { unsafe $0 + done }, bytes.count - done, off_t(offset) + done)
            }
        }
    }

    /// Returns the number of bytes from the current position to the end of a file, or `nil` if the descriptor
    /// does not refer to a regular file.
    package func bytesLeft() throws(CofferError) -> Int64? {
        let status = try status()
        guard status.kind == .regular else { return nil }
        let position = lseek(raw, 0, SEEK_CUR)
        return position < 0 ? nil : max(0, status.size - Int64(position))
    }

    /// Reads from the current position of a pipe or a terminal with one call. Returns the number of bytes
    /// read, or `nil` at the end.
    package func readSome(into buffer: inout MutableSpan<UInt8>) throws(CofferError) -> Int? {
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes {
                unsafe Glibc.read(raw, $0.baseAddress, $0.count)
            }
            if count > 0 { return count }
            if count == 0 { return nil }
            guard Errno.current == EINTR else { throw Errno.failure("read", path) }
        }
    }

    /// Waits for input, or the end of the input, for at most `milliseconds`. Returns whether there is input
    /// to read or the end has been reached. A signal ends the wait early.
    package func waitForInput(milliseconds: Int32) throws(CofferError) -> Bool {
        var polled = pollfd(fd: raw, events: Int16(POLLIN), revents: 0)
        let ready = unsafe poll(&polled, 1, milliseconds)
        guard ready >= 0 || Errno.current == EINTR else { throw Errno.failure("wait for", path) }
        return ready > 0
    }

    /// Writes all of `bytes` at `offset`, in as many calls as necessary.
    package func write(_ bytes: Span<UInt8>, at offset: Int64) throws(CofferError) {
        let written = try transfer(bytes.count, "write") { done in
            unsafe bytes.withUnsafeBytes { bytes in
                unsafe pwrite(
                    raw, bytes.baseAddress.map { unsafe $0 + done }, bytes.count - done, off_t(offset) + done)
            }
        }
        guard written == bytes.count else { throw Errno.failure("write", path, errno: ENOSPC) }
    }

    /// Writes all of `bytes` at the current position, as pipes and terminals require.
    package func append(_ bytes: Span<UInt8>) throws(CofferError) {
        let written = try transfer(bytes.count, "write") { done in
            unsafe bytes.withUnsafeBytes { bytes in
                unsafe Glibc.write(raw, bytes.baseAddress.map { unsafe $0 + done }, bytes.count - done)
            }
        }
        guard written == bytes.count else { throw Errno.failure("write", path, errno: EPIPE) }
    }

    /// Repeats a call that may be interrupted or may transfer fewer bytes than requested, until everything
    /// has been transferred or no more bytes can be. Returns the number of bytes transferred.
    private func transfer(
        _ count: Int, _ action: String, _ step: (Int) -> Int
    ) throws(CofferError) -> Int {
        var done = 0
        while done < count {
            let result = step(done)
            if result > 0 {
                done += result
            } else if result == 0 {
                break
            } else if Errno.current != EINTR {
                throw Errno.failure(action, path)
            }
        }
        return done
    }

    /// Flushes the file's data and metadata. A failure is final: do not repeat the call and report success.
    package func sync() throws(CofferError) {
        try flush { fsync(raw) }
    }

    /// Flushes the file's data, and the metadata that is needed to read it back.
    package func syncData() throws(CofferError) {
        try flush { fdatasync(raw) }
    }

    /// Performs a flush, and repeats it if a signal interrupts it, because an interrupted flush has not
    /// failed.
    private func flush(_ call: () -> CInt) throws(CofferError) {
        guard Errno.uninterrupted(call) == 0 else { throw Errno.failure("flush", path) }
    }

    /// Sets the file's size.
    package func truncate(to size: Int64) throws(CofferError) {
        let result = Errno.uninterrupted { ftruncate(raw, off_t(size)) }
        guard result == 0 else { throw Errno.failure("resize", path) }
    }

    /// Reserves space if the file system supports that, so a full disk is detected early. In an in-memory
    /// file system, where reserving space would clear every page beforehand, only checks whether enough space
    /// is available.
    package func reserve(_ size: Int64) throws(CofferError) {
        guard size > 0 else { return }
        let info = try FileSystemInfo.of(self)
        guard !info.isMemory else {
            guard info.available >= size else { throw Errno.failure("reserve space in", path, errno: ENOSPC) }
            return
        }
        let status = posix_fallocate(raw, 0, off_t(size))
        guard status == 0 || status == EOPNOTSUPP || status == EINVAL || status == EINTR else {
            throw Errno.failure("reserve space in", path, errno: status)
        }
    }

    /// Reads the whole file. Throws `corrupt` if the file is longer than `limit` bytes.
    package func readAll(limit: Int) throws(CofferError) -> [UInt8] {
        let size = try status().size
        guard size <= Int64(limit) else {
            throw CofferError(
                .corrupt, "\(path) is \(size) bytes long, but at most \(limit) bytes are allowed.")
        }
        var bytes = [UInt8](repeating: 0, count: Int(size))
        var span = bytes.mutableSpan
        let count = try read(at: 0, into: &span)
        return count == bytes.count ? bytes : Array(bytes.prefix(count))
    }

    /// Changes the file's permission bits.
    package func setPermissions(_ bits: UInt32) throws(CofferError) {
        guard fchmod(raw, bits) == 0 else { throw Errno.failure("change the permissions of", path) }
    }

    /// Whether the descriptor refers to a terminal.
    package var isTerminal: Bool { isatty(raw) == 1 }
}
