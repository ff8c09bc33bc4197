package import CofferBase
import Glibc
import CLinux
import Synchronization
package import SystemPackage

/// Operations on the entries of an open directory. Names are always relative to the descriptor, so no other
/// process can replace a parent directory between two operations.
extension Descriptor {
    /// Creates a directory that only its owner can access.
    package func makeDirectory(_ name: FilePath) throws(CofferError) {
        let result = unsafe name.withPlatformString { unsafe mkdirat(raw, $0, 0o700) }
        guard result == 0 else { throw Errno.failure("create the directory", path.pushing(name)) }
    }

    /// Creates a directory with exactly these permissions, whatever the umask is. The directory gets its name
    /// when it is finished. A crash before that leaves an empty directory `.NAME.new`, which the next call
    /// uses.
    package func makeDirectory(_ name: FilePath, permissions: UInt32) throws(CofferError) {
        let unfinished = FilePath(".\(name.string).new")
        do throws(CofferError) {
            try makeDirectory(unfinished)
        } catch {
            guard error.code == .alreadyExists else { throw error }
        }
        try open(unfinished, [.read, .directory]).setPermissions(permissions)
        try rename(unfinished, to: name)
        try sync()
    }

    /// Renames an entry in this directory, replacing any entry that already has the new name.
    package func rename(_ old: FilePath, to new: FilePath) throws(CofferError) {
        try rename(old, to: new, flags: 0)
    }

    /// Renames an entry in this directory. Throws an error if `new` already exists.
    package func renameWithoutReplacing(_ old: FilePath, to new: FilePath) throws(CofferError) {
        try rename(old, to: new, flags: 1)  // RENAME_NOREPLACE
    }

    /// Renames an entry without replacing another one, even on a file system that does not support the system
    /// call for this. On such a file system, an empty file reserves the new name until the rename replaces
    /// that file.
    package func moveWithoutReplacing(_ old: FilePath, to new: FilePath) throws(CofferError) {
        do throws(CofferError) {
            try renameWithoutReplacing(old, to: new)
        } catch {
            guard [EINVAL, ENOSYS, EOPNOTSUPP].contains(error.systemError) else { throw error }
            _ = try open(new, [.readWrite, .exclusive])
            do throws(CofferError) {
                try rename(old, to: new)
            } catch {
                _ = try? remove(new)
                throw error
            }
        }
    }

    /// Exchanges the names of two entries in this directory atomically.
    package func exchange(_ one: FilePath, _ other: FilePath) throws(CofferError) {
        try rename(one, to: other, flags: 2)  // RENAME_EXCHANGE
    }

    /// Exchanges the names of two entries. Returns `false` and changes nothing if the file system does not
    /// support this operation.
    package func exchangeIfPossible(_ one: FilePath, _ other: FilePath) throws(CofferError) -> Bool {
        do throws(CofferError) {
            try exchange(one, other)
            return true
        } catch {
            guard [EINVAL, ENOSYS, EOPNOTSUPP].contains(error.systemError) else { throw error }
            return false
        }
    }

    private func rename(_ old: FilePath, to new: FilePath, flags: CUnsignedInt) throws(CofferError) {
        let result = unsafe old.withPlatformString { old in
            unsafe new.withPlatformString { new in
                unsafe flags == 0 ? renameat(raw, old, raw, new) : clinux_renameat2(raw, old, new, flags)
            }
        }
        guard result == 0 else { throw Errno.failure("rename a file to", path.pushing(new)) }
    }

    /// Returns whether `isWanted` returns true for the status of this directory or of a directory above it.
    /// Follows `..` from directory to directory, because the path by which this directory was opened may
    /// contain links.
    package func isOrIsBelow(_ isWanted: (FileStatus) -> Bool) throws(CofferError) -> Bool {
        var status = try self.status()
        var upwards: FilePath = ".."
        while !isWanted(status) {
            guard let above = try self.status(of: upwards), !above.isSameFile(as: status) else {
                return false
            }
            status = above
            upwards = upwards.appending("..")
        }
        return true
    }

    /// Opens a new file without a name in this directory, so nothing of the file remains after a crash.
    /// Returns `nil` if the file system does not support such files, or if /proc, which ``link(_:as:)``
    /// needs, is not mounted.
    package func openUnnamed() throws(CofferError) -> Descriptor? {
        guard unsafe access("/proc/self/fd", F_OK) == 0 else { return nil }
        // O_TMPFILE is only defined with _GNU_SOURCE.
        let raw = Errno.uninterrupted {
            unsafe clinux_openat(self.raw, ".", 0o20_000_000 | O_DIRECTORY | O_RDWR | O_CLOEXEC, 0o600)
        }
        if raw >= 0 { return Descriptor(raw: raw, path: path) }
        switch Errno.current {
        case EOPNOTSUPP, EISDIR, ENOENT, EINVAL: return nil
        default: throw Errno.failure("create a file in", path)
        }
    }

    /// Links an unnamed file into this directory under `name`. Throws an error if `name` already exists.
    package func link(_ file: borrowing Descriptor, as name: FilePath) throws(CofferError) {
        let number = file.raw
        let result = unsafe name.withPlatformString { name in
            unsafe linkat(AT_FDCWD, "/proc/self/fd/\(number)", raw, name, AT_SYMLINK_FOLLOW)
        }
        guard result == 0 else { throw Errno.failure("link a new file as", path.pushing(name)) }
    }

    /// Removes a file. Returns whether it existed.
    @discardableResult
    package func remove(_ name: FilePath) throws(CofferError) -> Bool {
        try unlink(name, flags: 0)
    }

    /// Removes an empty directory. Returns whether it existed.
    @discardableResult
    package func removeDirectory(_ name: FilePath) throws(CofferError) -> Bool {
        try unlink(name, flags: AT_REMOVEDIR)
    }

    private func unlink(_ name: FilePath, flags: CInt) throws(CofferError) -> Bool {
        if unsafe name.withPlatformString({ unsafe unlinkat(raw, $0, flags) }) == 0 { return true }
        guard Errno.current == ENOENT else { throw Errno.failure("remove", path.pushing(name)) }
        return false
    }

    /// Returns the names of the entries in this directory, except `.` and `..`, in no particular order.
    package func names() throws(CofferError) -> [FilePath] { try entries().map(\.name) }

    /// Returns the names of the entries in this directory, except `.` and `..`, in no particular order, and
    /// whether each is a regular file. Opens none of them.
    package func entries() throws(CofferError) -> [(name: FilePath, isRegular: Bool)] {
        let own = Errno.uninterrupted {
            unsafe clinux_openat(raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        }
        guard own >= 0 else { throw Errno.failure("list", path) }
        guard let stream = unsafe fdopendir(own) else {
            let failure = Errno.failure("list", path)
            _ = Glibc.close(own)
            throw failure
        }
        defer { unsafe closedir(stream) }
        var entries: [(name: FilePath, isRegular: Bool)] = []
        while true {
            // Only errno distinguishes the end from a failure.
            Glibc.errno = 0
            guard let entry = unsafe readdir(stream) else {
                guard Errno.current == 0 else { throw Errno.failure("list", path) }
                return entries
            }
            let type = unsafe entry.pointee.d_type
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) {
                    unsafe FilePath(platformString: $0)
                }
            }
            guard name != "." && name != ".." else { continue }
            // DT_REG is 8. Some file systems do not say what an entry is: DT_UNKNOWN, 0.
            let isRegular = type == 8 || type == 0 && (try? status(of: name)?.kind) == .regular
            entries.append((name, isRegular))
        }
    }

    /// Removes everything in the directory `name` and the directory itself, without following links.
    ///
    /// If `overwriting` is `true`, fills regular files with zeros first, which is useful only in in-memory
    /// file systems.
    package func removeTree(_ name: FilePath, overwriting: Bool = false) throws(CofferError) {
        guard let status = try status(of: name) else { return }
        if status.kind == .directory {
            let directory = try open(name, [.read, .directory])
            for entry in try directory.names() { try directory.removeTree(entry, overwriting: overwriting) }
            try removeDirectory(name)
        } else {
            if overwriting, status.kind == .regular { try overwrite(name) }
            try remove(name)
        }
    }

    /// Opens a file for writing. If the file belongs to this user but its mode forbids writing, as with a
    /// view copy, changes the mode first.
    package func openForOverwriting(_ name: FilePath) throws(CofferError) -> Descriptor {
        do throws(CofferError) {
            return try open(name, .readWrite)
        } catch {
            guard error.code == .permissionDenied, permitOwner(name, 0o600) else { throw error }
            return try open(name, .readWrite)
        }
    }

    /// Fills the file `name` with zeros in place and, if `flushing` is `true`, flushes it. Skips holes,
    /// because they contain no data and because writing to them could fill the disk.
    package func overwrite(_ name: FilePath, flushing: Bool = true) throws(CofferError) {
        let file = try openForOverwriting(name)
        let size = try file.status().size
        let zeros = [UInt8](repeating: 0, count: Int(min(size, 1 << 20)))
        let pieces = zeros.isEmpty ? 0 : (Int(size) + zeros.count - 1) / zeros.count
        let failure = Mutex<CofferError?>(nil)
        // Use every processor: otherwise clearing the copy of a long file would take as long as creating it.
        let next = Atomic(0)
        Threads.run(pieces > 1 ? min(pieces, Environment.processors) : 1) {
            do throws(CofferError) {
                while case let piece = next.add(1, ordering: .relaxed).oldValue, piece < pieces {
                    let offset = Int64(piece) * Int64(zeros.count)
                    let end = min(offset + Int64(zeros.count), size)
                    try file.forEachDataRange(in: offset..<end) { (range) throws(CofferError) in
                        let count = Int(range.upperBound - range.lowerBound)
                        try file.write(zeros.span.extracting(0..<count), at: range.lowerBound)
                    }
                }
            } catch {
                failure.withLock { $0 = $0 ?? error }
            }
        }
        if let error = failure.withLock({ $0 }) { throw error }
        if flushing { try file.sync() }
    }

    /// Calls `body` with each range within `part` for which the file system stores data. Skips holes.
    fileprivate func forEachDataRange(
        in part: Range<Int64>, _ body: (Range<Int64>) throws(CofferError) -> Void
    ) throws(CofferError) {
        var position = part.lowerBound
        while position < part.upperBound {
            let start = Int64(lseek(raw, Int(position), clinux_seek_data))
            guard start >= 0 else {
                // A file system that does not report holes is treated as having none.
                if Errno.current != ENXIO { try body(position..<part.upperBound) }
                return
            }
            guard start < part.upperBound else { return }
            let hole = Int64(lseek(raw, Int(start), clinux_seek_hole))
            let end = hole > start ? min(hole, part.upperBound) : part.upperBound
            try body(start..<end)
            position = end
        }
    }
}
