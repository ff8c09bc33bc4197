import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import FoundationEssentials

/// The git credentials that a token store contains.
struct GitCredentials {
    private static let maxByteCount = 4 << 20
    private static let authtype = "authtype"
    private static let capability = "capability[]"
    private static let expiry = "password_expiry_utc"
    private static let refreshToken = "oauth_refresh_token"

    let tokens: TokenStore

    /// Returns the lines that answer `request`, or no bytes if the store contains no answer. Omits an expired
    /// password, but includes the refresh token that renews it.
    func answer(to request: GitRequest) async throws(CofferError) -> GuardedBytes {
        guard let target = try GitTarget(request) else { return try GuardedBytes.zeroed(count: 0) }
        let takesSchemes = try request.strings(Self.capability).contains(Self.authtype)
        let all = try await matches(target).filter {
            $0.id.kind == .access || ($0.id.kind == .other && takesSchemes)
        }.vouchedFor
        let now = Date()
        let usable = all.first { !$0.isExpired(at: now) }
        guard let best = usable ?? all.first(where: { $0.id.kind == .access }) else {
            return try GuardedBytes.zeroed(count: 0)
        }
        let secret = usable == nil ? nil : try await token(best.id)
        let renewing = try await tokens.companion(of: best, kind: .refresh)
        guard secret != nil || renewing != nil else { return try GuardedBytes.zeroed(count: 0) }
        return try lines(best, secret, renewing)
    }

    private func lines(
        _ info: TokenInfo, _ secret: Token?, _ renewing: Token?
    ) throws(CofferError) -> GuardedBytes {
        var lines = try GuardedBuffer.make(limit: Self.maxByteCount)
        if !info.id.account.isEmpty { try Self.add("username", info.id.account, to: &lines) }
        if let secret {
            if let scheme = info.attributes[GitTarget.scheme] {
                try Self.add(Self.capability, Self.authtype, to: &lines)
                try Self.add(Self.authtype, scheme, to: &lines)
            }
            let isScheme = info.attributes[GitTarget.scheme] != nil
            try Self.add(isScheme ? "credential" : "password", secret, to: &lines)
            if let expires = info.expires {
                try Self.add(Self.expiry, String(Int(expires.timeIntervalSince1970)), to: &lines)
            }
        }
        if let renewing { try Self.add(Self.refreshToken, renewing, to: &lines) }
        return try lines.finish()
    }

    private static func add(
        _ key: String, _ value: String, to lines: inout GuardedBuffer
    ) throws(CofferError) {
        try add(key, Token(copying: value), to: &lines)
    }

    /// Appends a line to the answer. Throws `refused` if the value contains a newline or a NUL byte. After a
    /// newline, a token could add another line and claim to be for another server.
    private static func add(
        _ key: String, _ value: Token, to lines: inout GuardedBuffer
    ) throws(CofferError) {
        try lines.append(key + "=")
        try value.exposing { (bytes) throws(CofferError) in
            for index in bytes.indices where bytes[index] == 0 || bytes[index] == UInt8(ascii: "\n") {
                throw CofferError(
                    .refused, "The stored \(key) contains a newline or a NUL byte, which git cannot read.")
            }
            try lines.append(bytes)
        }
        try lines.append("\n")
    }

    /// Stores the credential in `request` if the credential is complete, is neither ephemeral nor expired,
    /// and is not yet stored.
    func store(_ request: GitRequest) async throws(CofferError) {
        guard let target = try GitTarget(request), !(try isTrue("ephemeral", request)) else { return }
        let expires = try request.text(Self.expiry).flatMap { Int64($0) }
            .map { Date(timeIntervalSince1970: TimeInterval($0)) }
        guard expires.map({ $0 > Date() }) ?? true else { return }
        if let scheme = try request.text(Self.authtype), let credential = try request.token("credential") {
            let id = try TokenID(service: target.service, account: target.username ?? "", kind: .other)
            try await put(credential, id, expires, [GitTarget.scheme: scheme])
        } else if let username = target.username, let password = try request.token("password") {
            let id = try TokenID(service: target.service, account: username, kind: .access)
            try await put(password, id, expires, [:])
        } else {
            return
        }
        guard let renewing = try request.token(Self.refreshToken) else { return }
        let id = try TokenID(service: target.service, account: target.username ?? "", kind: .refresh)
        try await put(renewing, id, nil, [:])
    }

    /// Stores a token unless the same token is already stored. Git approves a credential after each use.
    private func put(
        _ token: Token, _ id: TokenID, _ expires: Date?, _ attributes: [String: String]
    ) async throws(CofferError) {
        let stored = try await tokens.get(id)
        let isThere = stored.map {
            Self.isSame($0.token, token) && $0.info.expires == expires && $0.info.attributes == attributes
        }
        guard isThere != true else { return }
        let result = try await tokens.put(token, for: id, expires: expires, attributes: attributes)
        await KeptClass.report(of: id, in: tokens)
        guard result == .queued else { return }
        Output.message(
            "coffer: The vault is locked, so the credential is sealed and waiting for the next unlock. "
                + "To list the stored tokens, run coffer token list."
        )
    }

    /// Removes the credentials that match `request`, together with their refresh tokens. If the request
    /// contains the rejected secret, removes only the credentials with that secret.
    func erase(_ request: GitRequest) async throws(CofferError) {
        guard let target = try GitTarget(request) else { return }
        var refused = try request.token("password")
        if refused == nil { refused = try request.token("credential") }
        for info in try await matches(target) where info.id.kind != .refresh {
            if let refused {
                guard let stored = try await tokens.get(info.id), Self.isSame(stored.token, refused) else {
                    continue
                }
            }
            try await tokens.remove(info.id)
            let renewing = try TokenID(
                service: info.id.service, account: info.id.account, kind: .refresh)
            try await tokens.remove(renewing)
        }
    }

    /// Returns the stored tokens that match a target. Tokens that did not arrive while the vault was locked
    /// come first, then tokens for the target's exact path, and then the newest tokens.
    private func matches(_ target: GitTarget) async throws(CofferError) -> [TokenInfo] {
        try await tokens.readable().filter { target.matches($0.id) }.sorted { left, right in
            guard left.isStoredWhileLocked == right.isStoredWhileLocked else {
                return right.isStoredWhileLocked
            }
            let isLeft = left.id.service.hasSameBytes(as: target.service)
            guard isLeft == right.id.service.hasSameBytes(as: target.service) else { return isLeft }
            return left.stored > right.stored
        }
    }

    private func token(_ id: TokenID) async throws(CofferError) -> Token? {
        try await tokens.get(id)?.token
    }

    private func isTrue(_ key: String, _ request: GitRequest) throws(CofferError) -> Bool {
        ["1", "true", "yes", "on"].contains(try request.text(key)?.foldedASCII ?? "")
    }

    /// Reports whether two tokens are equal, in time that depends only on their lengths.
    private static func isSame(_ left: Token, _ right: Token) -> Bool {
        left.exposing { left in right.exposing { right in ConstantTime.equal(left, right) } }
    }
}
