import CofferBase

/// The rule for ATTACH: only databases that SQLite opens through the encrypting VFS.
package enum AttachRule {
    /// The parameters that SQLite documents, and the token of the encrypting VFS. The VFS `unix` knows
    /// further, undocumented ones.
    private static let known = [
        "vfs", DatabaseKeyHandle.tokenParameter, "mode", "cache", "immutable", "nolock", "psow",
    ]

    /// Reports whether a name may be attached.
    ///
    /// A plain path is opened through the connection's own VFS, which refuses files without a token. A
    /// database without a name is a temporary one, which the encrypting VFS encrypts. A URI must name that
    /// VFS in exactly one `vfs` parameter, without encoding. Names that are not understood are refused.
    ///
    /// - Parameters:
    ///   - name: The bytes of the name.
    ///   - vfs: The name of the encrypting VFS.
    /// - Returns: Whether it may be attached.
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

    /// Reports whether the name hides nothing from a reader: no fragment, no encoded NUL, nothing encoded in
    /// the query, no parameter without a name or an equals sign.
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
