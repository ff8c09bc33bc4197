import CofferBase
import CofferEngine
package import SystemPackage

/// An original file that is removed after a copy of it has been sealed, but only if the file has not changed
/// since then and is not open for writing.
package struct SourceFile: ~Copyable {
    private let path: FilePath
    private let directory: Descriptor
    private let name: FilePath
    /// The file's status before any of it was read.
    private let status: FileStatus

    /// Creates a source file and examines the file at `path`, which is open as `source`, before it is read.
    /// Throws an error for a file that could not be removed later, so such a file is not sealed either.
    init(_ path: FilePath, _ source: borrowing Descriptor) throws(CofferError) {
        guard let component = path.lastComponent else {
            throw CofferError(.invalidInput, "The path \(path) does not end with a file name.")
        }
        let parent = path.removingLastComponent()
        let directory = try Descriptor.open(parent.isEmpty ? "." : parent, [.read, .directory])
        let name = FilePath(root: nil, [component])
        let first = try source.status()
        guard try directory.status(of: name)?.isSameFile(as: first) == true else {
            throw CofferError(
                .refused, "The original of \(path) cannot be removed because the path is a link.")
        }
        // A second change within the same tick of the file system's clock would be invisible.
        if !first.isSettled { Clock.sleep(for: .milliseconds(110)) }
        let status = try source.status()
        guard status == first else {
            throw CofferError(
                .conflict, "\(path) was not sealed because the file is still being written. Try again later.")
        }
        self.path = path
        self.directory = directory
        self.name = name
        self.status = status
    }

    /// Removes the file unless it has been changed or replaced since it was sealed, or another process may
    /// still write to it.
    ///
    /// If the kernel grants leases, a process that opens the file for writing is blocked from before the
    /// comparison until the file is removed, and a process that tries later no longer finds the name. The
    /// file is first renamed and then examined again, so that a different file that took its name in the
    /// meantime is not removed instead.
    consuming func remove(_ source: borrowing Descriptor) throws(CofferError) {
        let lease = source.leaseAgainstWriters()
        defer { source.releaseLease() }
        guard lease != .hasWriters else {
            throw CofferError(.conflict, "\(path) was not removed because the file is open for writing.")
        }
        guard try source.status() == status, try directory.status(of: name) == status else { throw changed }
        let aside = try asideName()
        do throws(CofferError) {
            try directory.rename(name, to: aside)
        } catch {
            throw stillThere(error)
        }
        do throws(CofferError) {
            // During the sync, a process that found the file before it was renamed has time to open it for
            // writing, which breaks the lease.
            try directory.sync()
            guard let now = try directory.status(of: aside), now.isSameFile(as: status),
                now.size == status.size, now.modified == status.modified,
                lease == .unavailable || source.isLeaseUnbroken
            else { throw changed }
        } catch {
            throw putBack(aside, after: error)
        }
        do throws(CofferError) {
            try directory.remove(aside)
        } catch {
            throw putBack(aside, after: stillThere(error))
        }
        try directory.sync()
    }

    private func stillThere(_ error: CofferError) -> CofferError {
        CofferError(
            error.code, "\(path) was sealed, but the original could not be removed. \(error.message)",
            remedy: error.remedy, systemError: error.systemError)
    }

    /// The text between the original name and the random suffix in the name of a file that was moved aside.
    private static let mark = Array(".removing-".utf8)
    private static let randomSize = 16

    /// Returns the originals that interrupted removals left next to `path`, unencrypted and under other
    /// names.
    package static func remains(beside path: FilePath) -> [FilePath] {
        let parent = path.removingLastComponent()
        guard let directory = try? Descriptor.open(parent.isEmpty ? "." : parent, [.read, .directory]),
            let names = try? directory.names()
        else { return [] }
        return names.filter { name in
            let end = FileNameBytes.of(name).suffix(mark.count + randomSize)
            return end.starts(with: mark) && end.count == mark.count + randomSize
        }.map { parent.pushing($0) }
    }

    private var changed: CofferError {
        CofferError(
            .conflict,
            "\(path) was not removed because the file was changed or replaced after it was sealed.")
    }

    /// Returns a name in the same directory that a person can recognize if a crash leaves the file under that
    /// name.
    private func asideName() throws(CofferError) -> FilePath {
        let random = try Descriptor.temporaryName().string.utf8.suffix(Self.randomSize)
        let bytes: [UInt8] = FileNameBytes.of(name).prefix(200) + Self.mark + random
        guard let component = FileNameBytes.component(bytes) else {
            throw CofferError(.internalFailure, "A generated file name is invalid.")
        }
        return FilePath(root: nil, [component])
    }

    /// Restores the file's name, unless another file has taken that name in the meantime. Returns the error
    /// to throw.
    private func putBack(_ aside: FilePath, after error: CofferError) -> CofferError {
        do throws(CofferError) {
            try directory.renameWithoutReplacing(aside, to: name)
            return error
        } catch {
            return CofferError(
                .conflict,
                "\(path) was replaced after it was sealed. The original file is now named \(aside).")
        }
    }
}
