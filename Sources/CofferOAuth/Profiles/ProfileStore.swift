public import Coffer
public import CofferBase

/// The OAuth profiles of a vault, and the secrets of their clients.
///
/// Profiles are stored among the vault's tokens, so the vault's lock applies to them: while it is locked, no
/// profile can be read or changed.
public struct ProfileStore: Sendable {
    private let tokens: TokenStore
    let managed: ManagedConfiguration?

    /// Creates a store of a vault's profiles.
    ///
    /// - Parameters:
    ///   - vault: The vault.
    ///   - managed: The administrator's configuration, ``ManagedConfiguration/installed()``, which restricts
    ///     the servers of new, changed and used profiles; `nil` if there is none.
    public init(_ vault: Vault, managed: ManagedConfiguration?) {
        self.init(vault.tokens, managed: managed)
    }

    package init(_ tokens: TokenStore, managed: ManagedConfiguration?) {
        self.tokens = tokens
        self.managed = managed
    }

    private static func id(_ name: String) throws(CofferError) -> TokenID {
        try OAuthProfile.check(name: name)
        return try TokenID(service: ReservedServices.oauthProfile + name, account: "", kind: .other)
    }

    private static func id(_ secret: ClientSecret, of name: String) throws(CofferError) -> TokenID {
        try OAuthProfile.check(name: name)
        return try TokenID(
            service: ReservedServices.oauthClient + name, account: secret.rawValue, kind: .other)
    }

    /// Adds a profile.
    ///
    /// - Parameter profile: The profile.
    /// - Throws: `alreadyExists` if there is a profile with that name; `hostRefused` if the administrator
    ///   does not allow its server or one of its endpoints; `invalidInput` if a value is invalid; `locked`,
    ///   `wiped`, `busy` or `noSpace`.
    public func add(_ profile: OAuthProfile) async throws(CofferError) {
        try managed?.check(profile)
        let bytes = try profile.encoded()
        do throws(CofferError) {
            try await store(bytes, profile.name, precondition: .absent)
        } catch {
            guard error.code == .conflict else { throw error }
            throw CofferError(
                .alreadyExists, "A profile with the name \(profile.name) already exists. Choose another name."
            )
        }
    }

    private func store(
        _ bytes: [UInt8], _ name: String, precondition: Precondition
    ) async throws(CofferError) {
        try await tokens.putReserved(
            Token(copying: bytes), for: Self.id(name), class: .whenUnlockedThisDeviceOnly,
            precondition: precondition)
    }

    /// Returns the names of all profiles, sorted by their bytes.
    ///
    /// - Returns: The names, also of profiles that are damaged.
    /// - Throws: `locked`, `wiped` or `corrupt`.
    public func names() async throws(CofferError) -> [String] {
        let prefix = ReservedServices.oauthProfile
        return try await tokens.listing().tokens.map(\.id)
            .filter { $0.service.utf8.starts(with: prefix.utf8) && $0.account.isEmpty && $0.kind == .other }
            .map { String(decoding: $0.service.utf8.dropFirst(prefix.utf8.count), as: UTF8.self) }
    }

    /// Returns all profiles, sorted by the bytes of their names.
    ///
    /// - Throws: `corrupt` or `unsupportedVersion` if a profile cannot be read, in which case ``names()`` and
    ///   ``profile(_:)`` still return the others; `locked` or `wiped`.
    public func list() async throws(CofferError) -> [OAuthProfile] {
        var profiles: [OAuthProfile] = []
        for name in try await names() {
            // A profile that was removed in the meantime is not in the list.
            if let found = try await find(name) { profiles.append(found.profile) }
        }
        return profiles
    }

    /// Returns a profile.
    ///
    /// - Parameter name: The profile's name.
    /// - Returns: The profile.
    /// - Throws: `absent` if there is no profile with that name; `corrupt` or `unsupportedVersion` if it
    ///   cannot be read; `invalidInput` if the name is not the name of a profile; `locked` or `wiped`.
    public func profile(_ name: String) async throws(CofferError) -> OAuthProfile {
        guard let found = try await find(name) else { throw Self.absent(name) }
        return found.profile
    }

    private static func absent(_ name: String) -> CofferError {
        CofferError(.absent, "There is no profile with the name \(name).", remedy: .addProfile)
    }

    private func find(_ name: String) async throws(CofferError) -> (profile: OAuthProfile, version: UInt64)? {
        guard let stored = try await tokens.get(Self.id(name)) else { return nil }
        // A locked vault accepts no value under this name, so this library did not store it.
        guard !stored.info.isStoredWhileLocked else {
            throw CofferError(
                .corrupt, "The profile stored as \(name) is of unknown origin.", remedy: .removeProfile)
        }
        let profile = try OAuthProfile(decoding: stored.token.copyBytes())
        // Its row is sealed under its name, so another name in it was never stored by this library.
        guard profile.name.hasSameBytes(as: name), let version = stored.info.version else {
            throw CofferError(
                .corrupt, "The profile stored as \(name) has another name.", remedy: .removeProfile)
        }
        return (profile, version)
    }

    /// Replaces a profile that has the same name and the same issuer.
    ///
    /// - Parameters:
    ///   - profile: The changed profile.
    ///   - acceptsEndpoints: Whether the endpoints may differ from the accepted ones. Set it only after the
    ///     user has agreed: whoever controls an endpoint receives the profile's tokens.
    /// - Throws: `refused` if the endpoints differ and `acceptsEndpoints` is not set; `issuerMismatch` if the
    ///   issuer differs; `absent` if there is no such profile; `conflict` if another process changed it in
    ///   the meantime; `hostRefused` if the administrator does not allow its server or one of its endpoints;
    ///   `invalidInput` if a value is invalid; `locked`, `wiped`, `busy` or `noSpace`.
    public func update(
        _ profile: OAuthProfile, acceptsEndpoints: Bool = false
    ) async throws(CofferError) {
        try managed?.check(profile)
        let bytes = try profile.encoded()
        guard let old = try await find(profile.name) else { throw Self.absent(profile.name) }
        guard profile.issuer == old.profile.issuer else {
            throw CofferError(
                .issuerMismatch,
                "A profile's issuer cannot change, because its tokens belong to one issuer. Add another "
                    + "profile.")
        }
        if let pinned = old.profile.endpoints, !acceptsEndpoints {
            let changes = (profile.endpoints ?? PinnedEndpoints()).differences(from: pinned)
            guard changes.isEmpty else {
                throw CofferError(
                    .refused,
                    "The server's endpoints differ from those that were accepted: "
                        + "\(changes.joined(separator: ", ")). The profile was not changed.",
                    remedy: .acceptEndpoints)
            }
        }
        try await store(bytes, profile.name, precondition: .version(old.version))
    }

    /// Removes a profile and the secrets of its client. Its tokens stay.
    ///
    /// - Parameter name: The profile's name.
    /// - Returns: Whether there was a profile or a secret with that name.
    /// - Throws: `invalidInput` if the name is not the name of a profile; `wiped` or `busy`.
    @discardableResult
    public func remove(_ name: String) async throws(CofferError) -> Bool {
        var wasFound = false
        // The profile last: after a crash it is still listed, and can be removed again.
        for secret in ClientSecret.allCases {
            if try await tokens.remove(Self.id(secret, of: name)) { wasFound = true }
        }
        if try await tokens.remove(Self.id(name)) { wasFound = true }
        return wasFound
    }

    /// Stores a secret of a profile's client, replacing one that is stored.
    ///
    /// - Parameters:
    ///   - value: The secret.
    ///   - secret: The purpose of the secret.
    ///   - name: The profile's name.
    /// - Throws: `absent` if there is no such profile; `invalidInput` if the secret is empty or longer than
    ///   64 KiB; `conflict` if another process changed it in the meantime; `locked`, `wiped`, `busy` or
    ///   `noSpace`.
    public func set(
        _ value: Token, as secret: ClientSecret, of name: String
    ) async throws(CofferError) {
        guard (1...65536).contains(value.count) else {
            throw CofferError(.invalidInput, "A client's secret must be 1 byte to 64 KiB long.")
        }
        guard try await find(name) != nil else { throw Self.absent(name) }
        let id = try Self.id(secret, of: name)
        let version = try await tokens.info(for: id)?.version
        try await tokens.putReserved(
            value, for: id, class: .whenUnlockedThisDeviceOnly,
            precondition: version.map { .version($0) } ?? .absent)
    }

    /// Returns a secret of a profile's client; `nil` if none is stored.
    ///
    /// - Throws: `corrupt` if the stored one is of unknown origin; `locked` or `wiped`.
    package func secret(_ secret: ClientSecret, of name: String) async throws(CofferError) -> Token? {
        guard let stored = try await tokens.get(Self.id(secret, of: name)) else { return nil }
        guard !stored.info.isStoredWhileLocked else {
            throw CofferError(
                .corrupt, "A secret of the profile \(name) is of unknown origin.", remedy: .removeProfile)
        }
        return stored.token
    }

    /// Returns which secrets of a profile's client are stored.
    ///
    /// - Parameter name: The profile's name.
    /// - Returns: The purposes of the stored secrets.
    /// - Throws: `invalidInput` if the name is not the name of a profile; `locked`, `wiped` or `corrupt`.
    public func secrets(of name: String) async throws(CofferError) -> Set<ClientSecret> {
        var found: Set<ClientSecret> = []
        for secret in ClientSecret.allCases {
            let info = try await tokens.info(for: Self.id(secret, of: name))
            if info != nil { found.insert(secret) }
        }
        return found
    }
}
