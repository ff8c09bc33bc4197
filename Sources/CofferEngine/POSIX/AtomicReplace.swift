package import CofferBase
package import SystemPackage

extension Descriptor {
    /// Replaces the file `name` in this directory atomically: a reader sees either the old bytes or the new
    /// ones, even after a crash or a power cut. Writes the bytes to a new file with a random name in the same
    /// directory, flushes that file, renames it, and flushes the directory.
    ///
    /// - Parameters:
    ///   - name: The file's name.
    ///   - bytes: The new content.
    ///   - permissions: The permission bits; `nil` for a file that only its owner can read.
    /// - Throws: The system's error; then `name` has its old content.
    package func replace(
        _ name: FilePath, with bytes: Span<UInt8>, permissions: UInt32? = nil
    ) throws(CofferError) {
        let temporary = try Self.temporaryName()
        do throws(CofferError) {
            let file = try open(temporary, [.readWrite, .exclusive])
            try file.write(bytes, at: 0)
            if let permissions { try file.setPermissions(permissions) }
            try file.sync()
            try file.close()
            try rename(temporary, to: name)
        } catch {
            _ = try? remove(temporary)
            throw error
        }
        try sync()
    }

    /// Returns a random name for an unfinished file. ``removeTemporaries()`` removes such files after a
    /// crash.
    package static func temporaryName() throws(CofferError) -> FilePath {
        try FilePath(temporaryPrefix + HexText.encode(SecureRandom.bytes(16)))
    }

    package static var temporaryPrefix: String { ".tmp-" }

    /// Returns the names of the unfinished files in this directory.
    package func temporaries() throws(CofferError) -> [FilePath] {
        try names().filter { $0.string.utf8.hasPrefix(Self.temporaryPrefix) }
    }

    /// Removes the files that a crash left unfinished. Call this method while holding the lock that this
    /// directory's writers use.
    package func removeTemporaries() throws(CofferError) {
        for name in try temporaries() { try removeTree(name) }
    }
}
