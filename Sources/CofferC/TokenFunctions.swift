public import CCoffer
import Coffer
import CofferBase
import CofferVault
import FoundationEssentials

/// `coffer_token_put`.
@_cdecl("coffer_token_put")
public func putToken(
    _ vault: OpaquePointer?, _ service: UnsafePointer<CChar>?, _ account: UnsafePointer<CChar>?,
    _ kind: UnsafePointer<CChar>?, _ token: UnsafePointer<UInt8>?, _ length: Int,
    _ options: UnsafePointer<coffer_token_options>?, _ version: UnsafeMutablePointer<UInt64>?,
    _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        let open = unsafe try OpenVault.of(vault)
        let id = unsafe try TokenID(service, account, kind)
        let options = unsafe try PutOptions(options)
        let token = unsafe try Token(token, length)
        let result = try open.wait { (vault) async throws(CofferError) in
            try await vault.tokens.put(
                token, for: id, class: options.protection, expires: options.expires, scopes: options.scopes,
                attributes: options.attributes(over: try? vault.tokens.info(for: id)),
                isEphemeral: options.isVolatile, precondition: options.precondition)
        }
        if let version = unsafe version { unsafe version.pointee = result.version ?? 0 }
    }
}

/// `coffer_token_get`.
@_cdecl("coffer_token_get")
public func getToken(
    _ vault: OpaquePointer?, _ service: UnsafePointer<CChar>?, _ account: UnsafePointer<CChar>?,
    _ kind: UnsafePointer<CChar>?, _ token: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        let place = unsafe try Output.empty(token, "token")
        let open = unsafe try OpenVault.of(vault)
        let id = unsafe try TokenID(service, account, kind)
        let found = try open.wait { (vault) async throws(CofferError) in try await vault.tokens.get(id) }
        guard let found else { throw CofferError.absentToken }
        try found.token.exposing { (bytes) throws(CofferError) in unsafe try Output.set(place, to: bytes) }
    }
}

/// `coffer_token_info`.
@_cdecl("coffer_token_info")
public func tokenInfo(
    _ vault: OpaquePointer?, _ service: UnsafePointer<CChar>?, _ account: UnsafePointer<CChar>?,
    _ kind: UnsafePointer<CChar>?, _ json: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        let place = unsafe try Output.empty(json, "json")
        let open = unsafe try OpenVault.of(vault)
        let id = unsafe try TokenID(service, account, kind)
        let info = try open.wait { (vault) async throws(CofferError) in try await vault.tokens.info(for: id) }
        guard let info else { throw CofferError.absentToken }
        unsafe try Output.set(place, to: info.json)
    }
}

/// `coffer_token_list`.
@_cdecl("coffer_token_list")
public func listTokens(
    _ vault: OpaquePointer?, _ json: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Output.list(of: vault, to: json, error) { (vault) async throws(CofferError) in
        try await vault.tokens.list().map(\.json)
    }
}

/// `coffer_token_remove`.
@_cdecl("coffer_token_remove")
public func removeToken(
    _ vault: OpaquePointer?, _ service: UnsafePointer<CChar>?, _ account: UnsafePointer<CChar>?,
    _ kind: UnsafePointer<CChar>?, _ error: UnsafeMutablePointer<coffer_error>?
) -> Int32 {
    unsafe Call.perform(error) { () throws(CofferError) in
        let open = unsafe try OpenVault.of(vault)
        let id = unsafe try TokenID(service, account, kind)
        let wasThere = try open.wait { (vault) async throws(CofferError) in try await vault.tokens.remove(id)
        }
        guard wasThere else { throw CofferError.absentToken }
    }
}

extension CofferError {
    static var absentToken: CofferError { CofferError(.absent, "There is no such token.") }
}

extension TokenID {
    /// Reads a token's name from a C caller's text.
    init(
        _ service: UnsafePointer<CChar>?, _ account: UnsafePointer<CChar>?, _ kind: UnsafePointer<CChar>?
    ) throws(CofferError) {
        let name = unsafe try Input.optionalText(kind, "kind") ?? TokenKind.access.name
        guard let kind = TokenKind.allCases.first(where: { $0.name.hasSameBytes(as: name) }) else {
            throw CofferError(.invalidInput, "A token's kind must be access, refresh, id or other.")
        }
        try self.init(
            service: unsafe Input.text(service, "service"), account: unsafe Input.text(account, "account"),
            kind: kind)
    }
}

extension Token {
    /// Copies a C caller's bytes to guarded memory.
    convenience init(_ pointer: UnsafePointer<UInt8>?, _ length: Int) throws(CofferError) {
        let secret = unsafe try Input.withBytes(pointer, length, "The token", limit: Token.maxByteCount) {
            (bytes) throws(CofferError) in try SecretBytes.copying(bytes)
        }
        try self.init(secret)
    }
}

extension TokenInfo {
    /// Everything but the value.
    fileprivate var json: JSONValue {
        var fields: [String: JSONValue] = [
            "service": .string(id.service), "account": .string(id.account), "kind": .string(id.kind.name),
            "class": .string(protection.name), "version": .integer(Int64(clamping: version ?? 0)),
            "stored": .number(stored.timeIntervalSince1970), "scopes": .array(scopes.map { .string($0) }),
            "attributes": .object(attributes.mapValues { .string($0) }), "isVolatile": .bool(isEphemeral),
            "isStoredWhileLocked": .bool(isStoredWhileLocked),
        ]
        if let expires { fields["expires"] = .number(expires.timeIntervalSince1970) }
        return .object(fields)
    }
}
