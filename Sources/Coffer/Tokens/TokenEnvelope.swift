import CofferBase
import CofferCrypto
import CofferVault
import FoundationEssentials

/// A token in its stored form. Only the format version and the class are readable without the class key.
///
/// Layout, with sizes in bytes: version 1 (1), zero (1), class (2) and wrapped token key (96); then length
/// (4) and sealed metadata, followed by length (4) and sealed value. Each token has its own random key,
/// wrapped under the class key. XChaCha20-Poly1305 seals the metadata and the value under the token key and
/// binds them to the vault, the class and the token's keyed name.
struct TokenEnvelope {
    static let version: UInt8 = 1

    let protection: ProtectionClass
    /// The wrapped token key, which is different for each version of the token.
    let wrappedKey: WrappedKey
    private let metadata: [UInt8]
    private let value: [UInt8]

    private enum Part: UInt8 { case key = 0, metadata = 1, value = 2 }

    private static func context(
        _ part: Part, protection: ProtectionClass, name: [UInt8], vaultID: VaultID
    ) -> [UInt8] {
        [version, part.rawValue] + protection.rawValue.bigEndianBytes + vaultID.bytes + name
    }

    static func seal(
        _ token: Token, info: TokenInfo, name: [UInt8], under classKey: ClassKey, vaultID: VaultID
    ) throws(CofferError) -> TokenEnvelope {
        try seal(
            token, info: info, name: name, key: SymmetricKey.random(), under: classKey, vaultID: vaultID)
    }

    /// Seals the token under `key`, which must not seal any other token.
    static func seal(
        _ token: Token, info: TokenInfo, name: [UInt8], key: borrowing SymmetricKey,
        under classKey: ClassKey, vaultID: VaultID
    ) throws(CofferError) -> TokenEnvelope {
        let keyContext = context(.key, protection: info.protection, name: name, vaultID: vaultID)
        let metadataContext = context(.metadata, protection: info.protection, name: name, vaultID: vaultID)
        let valueContext = context(.value, protection: info.protection, name: name, vaultID: vaultID)
        let metadata = info.encoded
        return TokenEnvelope(
            protection: info.protection,
            wrappedKey: try WrappedKey.wrap(
                key, under: classKey.tokenKEK, generation: classKey.generation, context: keyContext.span),
            metadata: try XChaCha20Poly1305.seal(
                metadata.span, key: key, associatedData: metadataContext.span),
            value: try token.exposing { (bytes) throws(CofferError) in
                try XChaCha20Poly1305.seal(bytes, key: key, associatedData: valueContext.span)
            })
    }

    /// Opens the metadata, and also the value if `withValue` is set. The class key is known to be the right
    /// one, so data that cannot be opened is damaged, and this function throws `corrupt`.
    func open(
        name: [UInt8], under classKey: ClassKey, vaultID: VaultID, withValue: Bool
    ) throws(CofferError) -> (info: TokenInfo, token: Token?) {
        let metadataContext = Self.context(.metadata, protection: protection, name: name, vaultID: vaultID)
        let valueContext = Self.context(.value, protection: protection, name: name, vaultID: vaultID)
        do throws(CofferError) {
            let key = try tokenKey(name: name, under: classKey, vaultID: vaultID)
            let encoded = try XChaCha20Poly1305.openToArray(
                metadata.span, key: key, associatedData: metadataContext.span)
            let info = try TokenInfo.decode(encoded, protection: protection)
            guard withValue else { return (info, nil) }
            let bytes = try XChaCha20Poly1305.open(value.span, key: key, associatedData: valueContext.span)
            return (info, try Token(bytes))
        } catch {
            guard error.code == .notAuthentic else { throw error }
            guard wrappedKey.generation <= classKey.generation else {
                throw CofferError(
                    .corrupt,
                    "A stored token needs a newer key than the keybag has: the keybag is an older copy, or "
                        + "the token is damaged.", remedy: .restoreVault)
            }
            throw CofferError(.corrupt, "A stored token is damaged.", remedy: .restoreOrReplaceToken)
        }
    }

    /// Returns the ticket that proves the right to replace this version.
    func ticket(
        name: [UInt8], under classKey: ClassKey, vaultID: VaultID
    ) throws(CofferError) -> ReplacementTicket {
        try ReplacementTicket(of: tokenKey(name: name, under: classKey, vaultID: vaultID), name: name)
    }

    /// Returns the token's own key; throws `notAuthentic` if `classKey` does not wrap it.
    func tokenKey(
        name: [UInt8], under classKey: ClassKey, vaultID: VaultID
    ) throws(CofferError) -> SymmetricKey {
        let context = Self.context(.key, protection: protection, name: name, vaultID: vaultID)
        return try classKey.withEitherKey { (key) throws(CofferError) in
            try wrappedKey.unwrap(under: key.tokenKEK, context: context.span)
        }
    }

    /// Returns this token with its key wrapped under `classKey`; `nil` if it is wrapped under that key, and
    /// not under the key that `classKey` replaces.
    func rewrapped(
        name: [UInt8], under classKey: ClassKey, vaultID: VaultID
    ) throws(CofferError) -> TokenEnvelope? {
        let context = Self.context(.key, protection: protection, name: name, vaultID: vaultID)
        do throws(CofferError) {
            _ = try wrappedKey.unwrap(under: classKey.tokenKEK, context: context.span)
            return nil
        } catch {
            guard error.code == .notAuthentic, let former = classKey.former else { throw error }
            let key = try wrappedKey.unwrap(under: former.tokenKEK, context: context.span)
            let wrapped = try WrappedKey.wrap(
                key, under: classKey.tokenKEK, generation: classKey.generation, context: context.span)
            return TokenEnvelope(
                protection: protection, wrappedKey: wrapped, metadata: metadata, value: value)
        }
    }

    var encoded: [UInt8] {
        var writer = BinaryWriter()
        writer.append([Self.version, 0])
        writer.append(protection.rawValue)
        writer.append(wrappedKey.encoded)
        writer.appendLengthPrefixed(metadata)
        writer.appendLengthPrefixed(value)
        return writer.bytes
    }

    static func decode(_ bytes: [UInt8]) throws(CofferError) -> TokenEnvelope {
        var reader = BinaryReader(bytes, name: "stored token", remedy: .restoreOrReplaceToken)
        let head = try reader.take(2)
        guard head[0] == version else {
            throw CofferError(
                .unsupportedVersion, "A stored token was written by a newer release or is damaged.",
                remedy: .useNewerRelease
            )
        }
        guard let protection = ProtectionClass(rawValue: try reader.number()) else {
            throw CofferError(
                .unsupportedVersion,
                "A stored token has a protection class that is not supported by this release. The token was "
                    + "written by a newer release or is damaged.",
                remedy: .useNewerRelease)
        }
        let encodedKey = try reader.take(WrappedKey.encodedSize)
        let wrapped: WrappedKey
        do throws(CofferError) {
            wrapped = try WrappedKey.decode(encodedKey.span)
        } catch {
            throw CofferError(
                error.code, error.message,
                remedy: error.code == .corrupt ? .restoreOrReplaceToken : .useNewerRelease)
        }
        return TokenEnvelope(
            protection: protection, wrappedKey: wrapped,
            metadata: try reader.lengthPrefixed(), value: try reader.lengthPrefixed())
    }
}

extension TokenInfo {
    var encoded: [UInt8] {
        var writer = BinaryWriter()
        writer.append(number)
        writer.append(stored.nanosecondsSince1970)
        writer.append(UInt8(expires == nil ? 0 : 1))
        writer.append(expires?.nanosecondsSince1970 ?? 0)
        writer.append(id.kind.rawValue)
        writer.appendText(id.service)
        writer.appendText(id.account)
        writer.append(UInt16(scopes.count))
        for scope in scopes { writer.appendText(scope) }
        writer.append(UInt16(attributes.count))
        let sorted = attributes.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        for (name, value) in sorted {
            writer.appendText(name)
            writer.appendText(value)
        }
        if isStoredWhileLocked { writer.append(UInt8(1)) }
        return writer.bytes
    }

    static func decode(_ bytes: [UInt8], protection: ProtectionClass) throws(CofferError)
        -> TokenInfo
    {
        var reader = BinaryReader(bytes, name: "stored token", remedy: .restoreOrReplaceToken)
        let version = try reader.number(UInt64.self)
        let stored = Date(nanosecondsSince1970: try reader.number())
        let hasExpiry = try reader.number(UInt8.self) == 1
        let expiry = Date(nanosecondsSince1970: try reader.number())
        guard let kind = TokenKind(rawValue: try reader.number()) else { throw reader.corruptError }
        let service = try reader.text()
        let id = try TokenID(service: service, account: reader.text(), kind: kind)
        var scopes: [String] = []
        for _ in 0..<(try reader.number(UInt16.self)) { scopes.append(try reader.text()) }
        var attributes: [String: String] = [:]
        for _ in 0..<(try reader.number(UInt16.self)) {
            let name = try reader.text()
            attributes[name] = try reader.text()
        }
        var info = TokenInfo(
            id: id, version: version == 0 ? nil : version, protection: protection, stored: stored,
            expires: hasExpiry ? expiry : nil,
            scopes: scopes, attributes: attributes)
        if reader.remaining > 0 { info.isStoredWhileLocked = try reader.number(UInt8.self) == 1 }
        return info
    }
}

extension Date {
    var nanosecondsSince1970: Int64 {
        let seconds = timeIntervalSince1970.rounded(.down)
        guard abs(seconds) < 9e9 else { return seconds < 0 ? .min : .max }
        return Int64(seconds) * 1_000_000_000 + Int64((timeIntervalSince1970 - seconds) * 1e9)
    }

    init(nanosecondsSince1970 nanoseconds: Int64) {
        self.init(timeIntervalSince1970: Double(nanoseconds) / 1e9)
    }
}
