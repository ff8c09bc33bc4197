package import CofferBase
import CofferEngine
package import SystemPackage

extension PolicyDirectory {
    /// The name of the file that is locked while a policy is installed. It is not a policy file.
    private static let lockName: FilePath = ".lock"

    /// Installs a policy file atomically, in place of a file of the same name. The directory is created if it
    /// is not there.
    ///
    /// - Parameters:
    ///   - bytes: The document, which must be valid.
    ///   - name: The file's name.
    /// - Returns: The file's path.
    /// - Throws: `invalidInput` if the name or the document is invalid; `policyInvalid` if a directory on the
    ///   path cannot be trusted; the system's error.
    package func install(_ bytes: [UInt8], named name: String) throws(CofferError) -> FilePath {
        guard let component = FilePath.Component(name), component.kind == .regular,
            let format = PolicyDocument.Format(fileName: Array(name.utf8)), name.utf8.count <= 128,
            name.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else {
            throw CofferError(
                .invalidInput,
                "A policy file's name must end in .plist or .json, must not begin with a period, and must "
                    + "have at most 128 bytes of printable ASCII.")
        }
        let document = PolicyDocument(reading: bytes, as: format)
        guard document.isValid else {
            throw CofferError(.invalidInput, document.findings.first { $0.kind == .error }?.message ?? "")
        }
        let directory = try make()
        let lock = try FileLock.acquire(Self.lockName, in: directory, deadline: .seconds(10))
        defer { extendLifetime(lock) }
        try directory.removeTemporaries()
        let file = FilePath(root: nil, [component])
        // Every user's programs read the file.
        try directory.replace(file, with: bytes.span, permissions: 0o644)
        return path.pushing(file)
    }

    /// Opens the directory, creating what is missing of it so that every user can read it.
    private func make() throws(CofferError) -> Descriptor {
        var directory = try Descriptor.open(base, [.read, .directory])
        try check(directory, .directory)
        for name in components {
            if try directory.status(of: name) == nil { try add(name, to: directory) }
            let next = try directory.open(name, [.read, .directory])
            try check(next, .directory)
            // An earlier release that was killed may have left a directory that only its owner can read.
            if try next.status().permissions == 0o700 { try next.setPermissions(0o755) }
            directory = next
        }
        return directory
    }

    /// Creates a directory that every user can read from the moment it has its name.
    private func add(_ name: FilePath, to directory: borrowing Descriptor) throws(CofferError) {
        do throws(CofferError) {
            try directory.makeDirectory(name, permissions: 0o755)
        } catch {
            // Another process may have created it at the same time.
            guard try directory.status(of: name) != nil else { throw error }
        }
    }
}
