import CLinux
package import CofferBase
import Glibc
package import SystemPackage

extension Descriptor {
    /// Locks this file until it is closed. Call this method only for a file that no other process can have
    /// locked.
    package func lock() throws(CofferError) {
        guard flock(raw, LOCK_EX | LOCK_NB) == 0 else { throw Errno.failure("lock", path) }
    }

    /// Locks this file until it is closed. Returns `false` if the file is already locked by another owner.
    package func tryLock() throws(CofferError) -> Bool {
        while flock(raw, LOCK_EX | LOCK_NB) != 0 {
            switch Errno.current {
            case EINTR: continue
            case EWOULDBLOCK: return false
            default: throw Errno.failure("lock", path)
            }
        }
        return true
    }
}

/// An advisory lock on a file (`flock`), which the kernel releases when its process ends.
package struct FileLock: ~Copyable, Sendable {
    private let file: Descriptor

    private init(file: consuming Descriptor) { self.file = file }

    /// Acquires the lock on `name`. Throws `busy` if another owner still holds the lock after the duration
    /// `deadline`.
    package static func acquire(
        _ name: FilePath, in directory: borrowing Descriptor, exclusive: Bool = true, deadline: Duration
    ) throws(CofferError) -> FileLock {
        try acquire(in: directory, deadline: deadline) { (directory) throws(CofferError) in
            try tryAcquire(name, in: directory, exclusive: exclusive)
        }
    }

    /// Acquires a shared lock on `name`, which must exist and is not written to, so that this works on a
    /// read-only mount. Waits for at most `deadline`, then throws `busy`.
    package static func acquireShared(
        existing name: FilePath, in directory: borrowing Descriptor, deadline: Duration
    ) throws(CofferError) -> FileLock {
        try acquire(in: directory, deadline: deadline) { (directory) throws(CofferError) in
            try tryAcquire(directory.open(name, .read), exclusive: false)
        }
    }

    /// Acquires the lock on `directory` itself. Throws `busy` if another owner still holds the lock after the
    /// duration `deadline`.
    package static func acquire(
        directory: borrowing Descriptor, deadline: Duration
    ) throws(CofferError) -> FileLock {
        try acquire(in: directory, deadline: deadline) { (directory) throws(CofferError) in
            try tryAcquire(directory.open(".", [.read, .directory]))
        }
    }

    private static func acquire(
        in directory: borrowing Descriptor, deadline: Duration,
        _ attempt: (borrowing Descriptor) throws(CofferError) -> FileLock?
    ) throws(CofferError) -> FileLock {
        let end = Clock.sinceBoot + deadline
        var pause = Duration.microseconds(200)
        while true {
            if let lock = try attempt(directory) { return lock }
            guard Clock.sinceBoot < end else {
                throw CofferError(
                    .busy, "Another process holds the lock on \(directory.path). Try again later.")
            }
            Clock.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(10))
        }
    }

    /// Returns the lock on `name`, or `nil` if another owner already holds it.
    package static func tryAcquire(
        _ name: FilePath, in directory: borrowing Descriptor, exclusive: Bool = true
    ) throws(CofferError) -> FileLock? {
        let file = try directory.open(name, [.readWrite, .create])
        return try tryAcquire(file, exclusive: exclusive)
    }

    /// Returns the lock on an open file, or `nil` if another owner already holds it.
    package static func tryAcquire(
        _ file: consuming Descriptor, exclusive: Bool = true
    ) throws(CofferError) -> FileLock? {
        while flock(file.raw, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0 {
            switch Errno.current {
            case EINTR: continue
            case EWOULDBLOCK: return nil
            default: throw Errno.failure("lock", file.path)
            }
        }
        return FileLock(file: file)
    }
}
