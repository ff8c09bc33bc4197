import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import FoundationEssentials

/// A token as a JSON object on one line. Its last member is the value in Base64, so that the text with the
/// value is never parsed outside of guarded memory.
enum TokenDocument {
    private static let marker = Array(",\"value\":\"".utf8)
    private static let end = Array("\"}\n".utf8)

    /// Returns the document of a token.
    static func encode(_ token: StoredToken) throws(CofferError) -> GuardedBytes {
        let info = token.info
        var fields: [String: JSONValue] = [
            "service": .string(info.id.service), "account": .string(info.id.account),
            "kind": .string(info.id.kind.name), "class": .string(info.protection.name),
            "stored": .integer(info.storedNanoseconds),
            "scopes": .array(info.scopes.map { .string($0) }),
            "attributes": .object(info.attributes.mapValues { .string($0) }),
        ]
        if let expires = info.expiryNanoseconds { fields["expires"] = .integer(expires) }
        let text = try Array(JSONValue.object(fields).jsonText().utf8.dropLast())
        let value = try token.token.exposing { (bytes) throws(CofferError) in try Encoding.base64(bytes) }
        let start = text + marker
        return try GuardedBytes.filled(count: start.count + value.count + end.count) { target in
            target.write(start.span, at: 0)
            target.write(value.span, at: start.count)
            target.write(end.span, at: start.count + value.count)
        }
    }

    /// Returns the token in a document; `nil` if the bytes are no such document.
    ///
    /// - Throws: `outOfMemory`.
    static func decode(_ bytes: Span<UInt8>) throws(CofferError) -> StoredToken? {
        let valueEnd = bytes.count - end.count
        guard valueEnd > 0, bytes.extracting(valueEnd...).copied() == end else { return nil }
        var valueStart = valueEnd
        while valueStart > 0, bytes[valueStart - 1] != UInt8(ascii: "\"") { valueStart -= 1 }
        let textEnd = valueStart - marker.count
        guard textEnd > 0, bytes.extracting(textEnd..<valueStart).copied() == marker else { return nil }
        let text = bytes.extracting(..<textEnd).copied() + Array("}".utf8)
        guard let fields = try? JSONValue(parsing: text).object, let info = info(fields) else { return nil }
        do throws(CofferError) {
            let value = bytes.extracting(valueStart..<valueEnd)
            for index in value.indices where value[index] < 0x21 { return nil }
            let secret = try Encoding.decodeBase64Lines(value)
            return StoredToken(token: try Token(SecretBytes(secret)), info: info)
        } catch {
            guard error.code == .invalidInput else { throw error }
            return nil
        }
    }

    private static func info(_ fields: [String: JSONValue]) -> TokenInfo? {
        guard let service = fields["service"]?.string, let account = fields["account"]?.string,
            let kindName = fields["kind"]?.string, let className = fields["class"]?.string,
            let kind = TokenKind.allCases.first(where: { $0.name.hasSameBytes(as: kindName) }),
            let protection = ProtectionClass.named(className), protection.isExportable,
            let id = try? TokenID(service: service, account: account, kind: kind),
            let stored = fields["stored"]?.integer, let scopes = fields["scopes"]?.array,
            let attributes = fields["attributes"]?.object, fields.count == (fields["expires"] == nil ? 7 : 8)
        else { return nil }
        let scopeTexts = scopes.compactMap(\.string)
        let attributeTexts = attributes.compactMapValues(\.string)
        let expires = fields["expires"]
        guard scopeTexts.count == scopes.count, attributeTexts.count == attributes.count,
            expires == nil || expires?.integer != nil
        else { return nil }
        return TokenInfo(
            id: id, version: nil, protection: protection, stored: .ofItem(stored),
            expires: expires?.integer.map { .ofItem($0) }, scopes: scopeTexts, attributes: attributeTexts)
    }
}

extension ProtectionClass {
    /// Returns the class of this name; `nil` if there is none.
    static func named(_ name: String) -> ProtectionClass? {
        allCases.first { $0.name.hasSameBytes(as: name) }
    }
}
