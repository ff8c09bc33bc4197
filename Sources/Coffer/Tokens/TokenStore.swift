public import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
public import FoundationEssentials

/// A vault's tokens.
///
/// Every token is sealed under its own key, and that key is sealed under its protection class's key. Names,
/// accounts and expiry dates are sealed, too. Several processes may use the same vault: their changes are
/// serialized, and none of them is lost.
public final class TokenStore: Sendable {
    let core: VaultCore

    init(core: VaultCore) { self.core = core }

    /// The storage that holds the envelopes.
    var storage: any ItemStorage { core.storage }

    /// Stores a token, replacing an existing token with that name.
    ///
    /// A new value keeps the class, the scopes and the attributes of the value that it replaces, unless you
    /// give others; so no call weakens a class without naming one. It does not keep the expiry date, which
    /// belongs to the old value. While the stored value's class is locked, only the class can be kept. A new
    /// value keeps nothing of a value that is marked (``TokenInfo/isStoredWhileLocked``), because anyone can
    /// have stored that one. The mark is unreadable while its class is locked. A class that can be read while
    /// the vault is locked, or exported, is then kept only if this vault object has read or written the
    /// stored value.
    ///
    /// After a lock, every program of this user can still store values in the `afterFirstUnlock` classes,
    /// without a mark. To be sure of a new value's class, give one.
    ///
    /// While its class is locked, the value is sealed to the class's public key and is pending until an
    /// unlock, in order of arrival. Until then only this vault object can read the value. If its name has no
    /// stored value at the unlock, the value is stored and marked (``TokenInfo/isStoredWhileLocked``). It
    /// replaces a stored value only if this vault object has read or written exactly that value and can
    /// therefore prove that the new value continues it. Otherwise the value stays pending, and readers get
    /// the stored value, until you call ``accept(_:fingerprint:)`` or ``reject(_:fingerprint:)``. An
    /// ephemeral token, and a `precondition` other than ``Precondition/any``, require an unlocked class. If
    /// the classes of the stored and the new value are both unlocked, pending values that this vault object
    /// did not store do not delay the new one.
    ///
    /// - Parameters:
    ///   - token: The value.
    ///   - id: The token's name.
    ///   - protection: When the token can be read; `nil` for the class of the stored value, or for the
    ///     vault's default, ``VaultSettings/newItemsAreMovable``, if there is none to keep.
    ///   - expires: When the token expires; `nil` if it never expires.
    ///   - scopes: The token's OAuth scopes; `nil` for those of the stored value.
    ///   - attributes: The caller's own attributes; `nil` for those of the stored value.
    ///   - isEphemeral: Whether to keep the token only in memory, never in the token storage, until the next
    ///     lock or the end of this vault object. A stored token with that name is removed for good.
    ///   - precondition: The condition that the stored value must meet.
    /// - Returns: The new version, one more than the previous one, or ``PutResult/queued`` if the value is
    ///   pending until an unlock.
    /// - Throws: `conflict`, with the current version, if `precondition` is not met; `invalidInput` for more
    ///   than 1024 scopes, more than 1024 attributes, more than 64 KiB of scopes and attributes together, or
    ///   an expiry date centuries away; `policyInvalid`;
    ///   `refused` for a service that begins with `coffer.`, `oauth-profile:`
    ///   or `oauth-client:`, or that begins with `oauth:` and ends with `#grant` or `#revoke`, which are
    ///   reserved for the library; `locked`, `wiped`, `busy`, `noSpace`.
    @discardableResult
    public func put(
        _ token: Token, for id: TokenID, class protection: ProtectionClass? = nil, expires: Date? = nil,
        scopes: [String]? = nil, attributes: [String: String]? = nil, isEphemeral: Bool = false,
        precondition: Precondition = .any
    ) async throws(CofferError) -> PutResult {
        try ReservedServices.check(id)
        return try await putUnchecked(
            token, for: id, class: protection, expires: expires, scopes: scopes, attributes: attributes,
            isEphemeral: isEphemeral, precondition: precondition, obeysPolicy: true)
    }

    /// Stores one of the library's own secrets under a reserved service, if the stored value meets
    /// `precondition`. Throws `locked` while the class is locked, except with ``Precondition/any``.
    package func putReserved(
        _ token: Token, for id: TokenID, class protection: ProtectionClass,
        attributes: [String: String] = [:], isEphemeral: Bool = false, precondition: Precondition = .absent
    ) async throws(CofferError) {
        _ = try await putUnchecked(
            token, for: id, class: protection, expires: nil, scopes: [], attributes: attributes,
            isEphemeral: isEphemeral, precondition: precondition)
    }

    private func putUnchecked(
        _ token: Token, for id: TokenID, class protection: ProtectionClass?, expires: Date?,
        scopes: [String]?, attributes: [String: String]?, isEphemeral: Bool, precondition: Precondition,
        obeysPolicy: Bool = false
    ) async throws(CofferError) -> PutResult {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try putNow(
                token, for: id, class: protection, expires: expires, scopes: scopes, attributes: attributes,
                isEphemeral: isEphemeral, precondition: precondition, obeysPolicy: obeysPolicy)
        }
    }

    /// Stores a token under any name. Blocks.
    func putNow(
        _ token: Token, for id: TokenID, class protection: ProtectionClass?, expires: Date? = nil,
        scopes: [String]? = [], attributes: [String: String]? = [:], isEphemeral: Bool = false,
        precondition: Precondition, obeysPolicy: Bool = false
    ) throws(CofferError) -> PutResult {
        let expires = obeysPolicy ? try core.expiry(expires) : expires
        let name = try name(of: id)
        let new = NewTokenInfo(
            id: id, stored: Date(nanosecondsSince1970: core.clock.wallClock().nanoseconds),
            protection: protection,
            defaultClass: protection == nil ? try core.defaultClass() : .standard, expires: expires,
            scopes: scopes, attributes: attributes)
        try new.info(nil, replacing: nil).checkLimits()
        return try core.home.withExclusiveVault { (vault) throws(CofferError) in
            try core.drainPendingTokens(in: vault)
            do throws(CofferError) {
                let isFirst = try core.entries(.pending, of: name, in: vault).isEmpty
                guard try isFirst ? true : overtakesPending(name) else { throw CofferError.locked }
                let version = try store(token, new, name: name, precondition, isEphemeral: isEphemeral)
                return .stored(version: version)
            } catch {
                guard error.code == .locked, precondition == .any, !isEphemeral else { throw error }
                let info = new.info(nil, replacing: try knownWhileLocked(name, new))
                try info.checkLimits()
                try core.enqueue(token, info, name: name, in: vault)
                return .queued
            }
        }
    }

    /// Stores a token under the vault directory's lock.
    func store(
        _ token: Token, _ new: NewTokenInfo, name: [UInt8], _ precondition: Precondition, isEphemeral: Bool
    ) throws(CofferError) -> UInt64 {
        let given = try new.protection.map { (given) throws(CofferError) in try core.keyForStoring(given) }
        let old: TokenInfo?
        do throws(CofferError) {
            old = try findEnvelope(name, orLocked: precondition != .any).map { (old) throws(CofferError) in
                try open(old, name: name, withValue: false).info
            }
        } catch {
            // A locked vault queues the value, whatever the state of the storage.
            if given == nil { _ = try core.keyForStoring(new.defaultClass) }
            throw error
        }
        let version = (old?.version ?? 0) + 1
        let info = new.info(version, replacing: old)
        let classKey = if let given { given } else { try core.keyForStoring(info.protection) }
        guard precondition.isMet(by: old?.version) else { throw CofferError.conflict(with: old?.version) }
        try info.checkLimits()
        let envelope = try TokenEnvelope.seal(
            token, info: info, name: name, under: classKey, vaultID: core.device.vaultID)
        let (target, other) = isEphemeral ? (core.ephemeralTokens, storage) : (storage, core.ephemeralTokens)
        try target.put(envelope.encoded, for: name)
        if try other.envelope(name) != nil { try other.remove(name) }
        noteTicket(of: envelope, name, isMarked: false)
        return version
    }

    /// Returns a token and its description; `nil` if there is no token with that name.
    ///
    /// If this vault object stored a value while its class was locked and that value is still pending, the
    /// method returns that value, which has no version yet. Do not keep a reference to the token longer than
    /// needed; ``withToken(for:_:)`` keeps none.
    ///
    /// - Parameter id: The token's name.
    /// - Returns: The token and its description; `nil` if there is no such token.
    /// - Throws: `locked`, `wiped` or `corrupt`.
    public func get(_ id: TokenID) async throws(CofferError) -> StoredToken? {
        if let cached = try? cachedToken(id) { return cached }
        return try await BlockingExecutor.run { [self] _ throws(CofferError) in try readNow(id) }
    }

    /// Returns a token like ``get(_:)``. Blocks.
    func getNow(_ id: TokenID) throws(CofferError) -> StoredToken? {
        if let cached = try? cachedToken(id) { return cached }
        return try readNow(id)
    }

    private func readNow(_ id: TokenID) throws(CofferError) -> StoredToken? {
        let name = try name(of: id)
        try core.drainPendingTokens()
        if let own = try core.ownPendingValue(name) {
            return StoredToken(token: own.token, info: own.info)
        }
        guard let envelope = try findEnvelope(name) else {
            try core.throwIfPending(name)
            return nil
        }
        let (info, token) = try open(envelope, name: name, withValue: true)
        return token.map { StoredToken(token: $0, info: info) }
    }

    /// Calls `body` with a token and its description, and keeps no reference to the token afterwards. In all
    /// other respects, this method behaves like ``get(_:)``.
    ///
    /// - Parameters:
    ///   - id: The token's name.
    ///   - body: A closure that receives the token and its description. It may throw errors of any type.
    /// - Returns: The value that `body` returns; `nil` if there is no such token.
    /// - Throws: `locked`, `wiped` or `corrupt`; or the error that `body` throws.
    public func withToken<Result, Failure: Error>(
        for id: TokenID, _ body: (_ token: Token, _ info: TokenInfo) throws(Failure) -> Result
    ) async throws -> Result? {
        guard let found = try await get(id) else { return nil }
        return try body(found.token, found.info)
    }

    /// Returns one token's description, without its value; `nil` if there is no token with that name.
    ///
    /// - Parameter id: The token's name.
    /// - Returns: The token's description; `nil` if there is no such token.
    /// - Throws: `locked`, `wiped` or `corrupt`.
    public func info(for id: TokenID) async throws(CofferError) -> TokenInfo? {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            let name = try name(of: id)
            try core.drainPendingTokens()
            if let own = try core.ownPendingValue(name) { return own.info }
            guard let envelope = try findEnvelope(name) else {
                try core.throwIfPending(name)
                return nil
            }
            return try open(envelope, name: name, withValue: false).info
        }
    }

    /// Returns a token's class, even while that class is locked; `nil` if the storage has no token with that
    /// name.
    package func protection(of id: TokenID) async throws(CofferError) -> ProtectionClass? {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            guard let bytes = try core.storage.envelope(name(of: id)) else { return nil }
            return try TokenEnvelope.decode(bytes).protection
        }
    }

    /// Returns the descriptions of all tokens, without their values, sorted by the bytes of the service, then
    /// by the bytes of the account, and then by the kind.
    ///
    /// - Throws: `locked` if any token cannot be read now; `corrupt` or `unsupportedVersion` if any token is
    ///   unreadable, in which case ``listing()`` still returns the others; `wiped`.
    public func list() async throws(CofferError) -> [TokenInfo] {
        let listing = try await listing()
        if let corrupt = listing.corrupt.first {
            throw CofferError(
                corrupt.code, "The stored token \(corrupt.name) cannot be read.",
                remedy: corrupt.code == .unsupportedVersion ? .useNewerRelease : .restoreOrReplaceToken)
        }
        return listing.tokens
    }

    /// Removes a token, including its pending values. If a version other than `ifVersion` is stored, nothing
    /// is removed.
    ///
    /// - Parameters:
    ///   - id: The token's name.
    ///   - ifVersion: The version that must currently be stored; `nil` if any version may be removed.
    /// - Returns: Whether a stored token or a pending value was removed.
    /// - Throws: `conflict` if `ifVersion` is set but there is only a pending value or another version is
    ///   stored; `locked` if the versions cannot be compared until an unlock; `busy` if another process holds
    ///   the vault's lock for too long; `wiped`.
    @discardableResult
    public func remove(_ id: TokenID, ifVersion: UInt64? = nil) async throws(CofferError) -> Bool {
        try await removeCounting(id, ifVersion: ifVersion) != nil
    }

    /// Removes a token like ``remove(_:ifVersion:)``, and returns whether it was stored and how many pending
    /// values were removed; `nil` if there was nothing to remove.
    package func removeCounting(
        _ id: TokenID, ifVersion: UInt64? = nil
    ) async throws(CofferError) -> (wasStored: Bool, pending: Int)? {
        try await BlockingExecutor.run { [self] _ throws(CofferError) -> (wasStored: Bool, pending: Int)? in
            let name = try name(of: id)
            return try core.home.withExclusiveVault {
                (vault) throws(CofferError) -> (wasStored: Bool, pending: Int)? in
                try core.drainPendingTokens(in: vault)
                var waiting = try core.entries(.pending, of: name, in: vault)
                guard waiting.isEmpty || ifVersion == nil else { throw CofferError.locked }
                waiting += try core.entries(.unconfirmed, of: name, in: vault)
                let envelope = try findEnvelope(name)
                guard envelope != nil || !waiting.isEmpty else { return nil }
                if let ifVersion {
                    let stored = try envelope.flatMap { (envelope) throws(CofferError) in
                        try open(envelope, name: name, withValue: false).info.version
                    }
                    guard stored == ifVersion else { throw CofferError.conflict(with: stored) }
                }
                // Before the stored token: without one, the next unlock would store a value left by a crash.
                try core.pendingTokens.remove(waiting, in: vault)
                core.ownPending[name] = nil
                guard envelope != nil else { return (false, waiting.count) }
                try storage.remove(name)
                try core.ephemeralTokens.remove(name)
                return (true, waiting.count)
            }
        }
    }

    /// Returns the number of tokens. You can call this method while the vault is locked.
    ///
    /// - Throws: `wiped` or `corrupt`.
    public func count() async throws(CofferError) -> Int {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try storage.count() + core.ephemeralTokens.count()
        }
    }

    /// Returns the token if it is completely cached and no file has changed since it was cached. The function
    /// checks only the status of a few files, so it may run on the calling thread. If it returns `nil` or
    /// throws an error, read the token on a thread that may block.
    private func cachedToken(_ id: TokenID) throws(CofferError) -> StoredToken? {
        guard core.ephemeralTokens.isEmptyInMemory, try !core.pendingTokens.exists() else { return nil }
        let name = try name(of: id)
        guard let envelope = core.storage.cachedEnvelope(name) else { return nil }
        let found = StoredEnvelope(bytes: envelope, isEphemeral: false)
        let (info, token) = try open(found, name: name, withValue: true)
        return token.map { StoredToken(token: $0, info: info) }
    }

    func name(of id: TokenID) throws(CofferError) -> [UInt8] {
        let key = try core.device.nameKey()
        return try id.keyedHash(key.key)
    }

    /// A stored envelope, with a flag that shows whether it is ephemeral.
    struct StoredEnvelope {
        let bytes: [UInt8]
        let isEphemeral: Bool
    }

    /// Returns the envelope stored under a name, preferring an ephemeral one. An ephemeral envelope whose
    /// class is locked counts only if nothing is stored and `locked` is set, because it cannot be
    /// distinguished from an envelope that another process put into the kernel keyring.
    func findEnvelope(_ name: [UInt8], orLocked locked: Bool = true) throws(CofferError) -> StoredEnvelope? {
        let bytes = try core.ephemeralTokens.envelope(name)
        let ephemeral = bytes.map { StoredEnvelope(bytes: $0, isEphemeral: true) }
        if let ephemeral, isOpen(ephemeral) { return ephemeral }
        if let bytes = try storage.envelope(name) { return StoredEnvelope(bytes: bytes, isEphemeral: false) }
        return locked ? ephemeral : nil
    }

    /// Returns whether the key for the envelope's class is available.
    func isOpen(_ found: StoredEnvelope) -> Bool {
        (try? TokenEnvelope.decode(found.bytes)).map { core.keys.all[$0.protection] != nil } ?? false
    }

    /// Returns the key for a stored token's class. If the keybag has no key for that class, no token can have
    /// been stored in it; in that case, the token's class field is damaged, and the function throws
    /// `corrupt`.
    private func key(of protection: ProtectionClass) throws(CofferError) -> ClassKey {
        do throws(CofferError) {
            return try core.keys.key(protection)
        } catch {
            guard error.code == .refused, try core.readKeybag().keys[protection] == nil else { throw error }
            throw CofferError(
                .corrupt, "A stored token is damaged: the protection class of the token has no key.",
                remedy: .restoreOrReplaceToken)
        }
    }

    func open(
        _ found: StoredEnvelope, name: [UInt8], withValue: Bool
    ) throws(CofferError) -> (info: TokenInfo, token: Token?) {
        do throws(CofferError) {
            return try openOnce(found, name: name, withValue: withValue)
        } catch {
            // Another process may have replaced the class keys since the keys or the envelope were read.
            guard error.code == .corrupt else { throw error }
            let isRefreshed = try core.refreshKeys()
            guard let now = try findEnvelope(name),
                isRefreshed || now.bytes != found.bytes
            else { throw error }
            return try openOnce(now, name: name, withValue: withValue)
        }
    }

    func openOnce(
        _ found: StoredEnvelope, name: [UInt8], withValue: Bool
    ) throws(CofferError) -> (info: TokenInfo, token: Token?) {
        let envelope = try TokenEnvelope.decode(found.bytes)
        var (info, token) = try envelope.open(
            name: name, under: key(of: envelope.protection), vaultID: core.device.vaultID,
            withValue: withValue)
        info.isEphemeral = found.isEphemeral
        if withValue { noteTicket(of: envelope, name, isMarked: info.isStoredWhileLocked) }
        return (info, token)
    }
}

extension CofferError {
    /// Returns the error for a precondition that the stored version does not meet; a `nil` version stands for
    /// no value.
    fileprivate static func conflict(with version: UInt64?) -> CofferError {
        let stored =
            version.map { "a token with version \($0) is stored under this name" }
            ?? "no token is stored under this name"
        return CofferError(
            .conflict, "The token was not changed because \(stored).", currentVersion: version)
    }
}
