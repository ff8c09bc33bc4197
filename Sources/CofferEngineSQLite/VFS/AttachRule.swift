import CofferBase

/// The rule for `ATTACH`: a connection may attach only databases that SQLite opens through the encrypting
/// VFS.
package enum AttachRule {
    /// The parameters that SQLite documents, and the token of the encrypting VFS. The VFS `unix` also accepts
    /// undocumented parameters, which the rule refuses.
    private static let known = [
        "vfs", DatabaseKeyHandle.tokenParameter, "mode", "cache", "immutable", "nolock", "psow",
    ]

    /// Reports whether a name may be attached.
    ///
    /// SQLite opens a path that is not a URI through the connection's own VFS, which refuses files without a
    /// token. A database without a name is temporary, and the encrypting VFS encrypts it. A URI must name the
    /// encrypting VFS in exactly one `vfs` parameter, without percent-encoding. The rule refuses names that
    /// it cannot parse.
    ///
    /// - Parameters:
    ///   - name: The database's name, which may be a URI.
    ///   - vfs: The encrypting VFS's name.
    /// - Returns: Whether the database may be attached.
    package static func allows(_ name: [UInt8], vfs: String = EncryptedVFS.name) -> Bool {
        switch DatabaseURI.read(name) {
        case .path: return true
        case .refused: return false
        case .uri(let uri):
            let names = uri.parameters.map(\.name)
            let isKnown = names.allSatisfy { name in known.contains { name.elementsEqual($0.utf8) } }
            guard isKnown, Set(names).count == names.count, isPlain(name) else { return false }
            return uri.values(of: "vfs") == [Array(vfs.utf8)]
        }
    }

    /// Reports whether the name contains nothing that could mislead a reader: a fragment, an encoded NUL,
    /// anything encoded in the query, or a parameter without a name or an equals sign.
    private static func isPlain(_ name: [UInt8]) -> Bool {
        guard !name.contains(UInt8(ascii: "#")) else { return false }
        let parts = name.split(separator: UInt8(ascii: "?"), maxSplits: 1)
        let path = parts[0]
        let hasNUL = path.indices.contains { path[$0...].starts(with: "%00".utf8) }
        guard !hasNUL, let query = parts.dropFirst().first else { return !hasNUL }
        return !query.contains(UInt8(ascii: "%"))
            && query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).allSatisfy {
                item in
                item.dropFirst().contains(UInt8(ascii: "=")) && item.first != UInt8(ascii: "=")
            }
    }
}
