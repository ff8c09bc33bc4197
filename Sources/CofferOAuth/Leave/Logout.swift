package import Coffer
package import CofferBase

/// Signing out. Each step can be repeated, and a crash after any of them leaves a session that cannot be used
/// and that the next call signs out.
package struct Logout: Sendable {
    private let store: GrantStore
    private let clock: VaultClock
    private let events: OAuthEventSource?

    /// Creates the signing out of sessions in a store.
    package init(_ store: GrantStore, clock: VaultClock, events: OAuthEventSource? = nil) {
        self.store = store
        self.clock = clock
        self.events = events
    }

    /// What the steps on this machine have done.
    private struct Progress: Sendable {
        /// The tokens to revoke.
        var tokens: [PendingRevocation] = []
        /// The kinds of tokens that are in memory only, so that they cannot be revoked later.
        var volatile: Set<TokenKind> = []
        /// The kinds of tokens that are damaged.
        var damaged: Set<TokenKind> = []
        var receipt: LogoutReceipt
        var subject: String?
        /// The server's issuer; `nil` if the session's state cannot be read.
        var issuer: String?
        /// Whether the vault that contains the session was wiped, so that nothing can be put aside.
        var isVaultGone = false
        /// Whether the vault contains other sessions, or tokens of others that wait to be revoked.
        var hasOthers = false
        var wasThere = false
    }

    /// Signs a session out: here first, then at the server. No failure of the network keeps it from ending.
    ///
    /// - Parameters:
    ///   - grant: The session.
    ///   - options: What to do beside removing the session.
    ///   - endpoints: The server; `nil` if it cannot be asked, so that its tokens are revoked later.
    /// - Returns: The receipt. If there is no session, nothing but the revocation of tokens that were put
    ///   aside is done.
    /// - Throws: `timedOut` if a renewal or a sign-in of the session does not end; `locked`, `wiped`, `busy`,
    ///   `noSpace` or `readOnly`, after which the next call continues; `wrongPasscode` or `attemptDelayed`
    ///   for the passcode in the options; `cancelled` if the task was cancelled before anything was changed.
    package func run(
        _ grant: GrantID, _ options: LogoutOptions = LogoutOptions(), at endpoints: ServerEndpoints?
    ) async throws(CofferError) -> LogoutReceipt {
        var progress = try await store.tokens.withRefreshLease(
            of: grant.tokenID(.refresh), deadline: GrantStore.leaseDeadline
        ) { () async throws(CofferError) -> Progress in try await leave(grant, options) }
        let fates = await PendingRevocations(store, clock: clock)
            .revoke(progress.tokens, of: grant, at: endpoints, deadline: options.deadline)
        progress.receipt.refreshToken = fate(.refresh, of: progress, fates)
        progress.receipt.accessToken = fate(.access, of: progress, fates)
        // Another server learns nothing of the user.
        if options.endSession, let endpoints,
            progress.issuer?.hasSameBytes(as: endpoints.profile.issuer.text) != false
        {
            progress.receipt.endSessionURL = Self.endSessionURL(endpoints, progress.subject)
        }
        if progress.wasThere { events?.post(.loggedOut, grant) }
        return progress.receipt
    }

    /// Signs out every session whose signing out was interrupted. A session that cannot be signed out does
    /// not keep the others from it.
    ///
    /// - Parameter endpoints: A closure that returns the server of a profile; `nil` if it cannot be asked.
    /// - Returns: The receipts, and the first of the errors of ``run(_:_:at:)``.
    /// - Throws: `locked`, `wiped` or `corrupt` if the sessions cannot be listed.
    @discardableResult
    package func resume(
        at endpoints: (_ profile: String) async -> ServerEndpoints?
    ) async throws(CofferError) -> (receipts: [LogoutReceipt], failure: CofferError?) {
        var receipts: [LogoutReceipt] = []
        var failure: CofferError?
        for grant in try await store.list() {
            guard case .leaving? = try? await store.record(grant)?.state else { continue }
            let options = LogoutOptions(stores: .keep)
            do throws(CofferError) {
                receipts.append(try await run(grant, options, at: await endpoints(grant.profile)))
            } catch {
                failure = failure ?? error
            }
        }
        return (receipts, failure)
    }

    private func fate(
        _ kind: TokenKind, of progress: Progress, _ fates: [TokenKind: LogoutReceipt.Revocation]
    ) -> LogoutReceipt.Revocation {
        guard !progress.damaged.contains(kind) else { return .notRevoked }
        guard progress.tokens.contains(where: { $0.kind == kind }) else { return .absent }
        let fate = fates[kind] ?? .pending
        let isForgotten = progress.isVaultGone || progress.volatile.contains(kind)
        return fate == .pending && isForgotten ? .notRevoked : fate
    }

    // MARK: Steps

    /// Performs the steps on this machine. The caller must hold the lease.
    private func leave(_ grant: GrantID, _ options: LogoutOptions) async throws(CofferError) -> Progress {
        var progress = Progress(receipt: LogoutReceipt(grant))
        guard let step = try await begin(grant, options, &progress) else {
            progress.tokens = try await store.pendingRevocations(grant)
            return progress
        }
        progress.wasThere = true
        try await setAside(grant, &progress)
        let stores = LogoutStep(.stores, removesStores: step.removesStores)
        if step.name != .rows {
            try await note(stores, grant)
            try await removeStores(grant, options, stores, &progress)
        }
        do throws(CofferError) {
            try await note(LogoutStep(.rows, removesStores: step.removesStores), grant)
            try await store.remove(grant)
        } catch {
            // The vault was the account's own.
            guard error.code == .wiped, progress.receipt.isNamespaceWiped else { throw error }
            progress.isVaultGone = true
            progress.receipt.mayLeaveSessions = progress.hasOthers
        }
        return progress
    }

    /// Notes that the session is being signed out, after which it cannot be used. Returns the step that is
    /// next; `nil` if there is no session.
    private func begin(
        _ grant: GrantID, _ options: LogoutOptions, _ progress: inout Progress
    ) async throws(CofferError) -> LogoutStep? {
        let first = LogoutStep(.tokens, removesStores: options.stores == .remove)
        do throws(CofferError) {
            guard let record = try await store.record(grant) else {
                // A first sign-in that was interrupted leaves a row without a state.
                let row = try await store.tokens.info(for: grant.grantRow)
                let token = try await store.refreshToken(grant)
                return row == nil && token == nil ? nil : first
            }
            progress.subject = record.subject
            progress.issuer = record.issuer
            if case .leaving(let step) = record.state {
                let earlier = LogoutStep(text: step)
                return LogoutStep(
                    earlier.name, removesStores: earlier.removesStores || options.stores == .remove)
            }
            try await note(first, grant)
            return first
        } catch {
            // A session whose state cannot be read is signed out, too.
            guard error.code == .corrupt else { throw error }
            return first
        }
    }

    /// Stores the step that is next. A state that is damaged or not there cannot be changed, and prevents no
    /// step.
    private func note(_ step: LogoutStep, _ grant: GrantID) async throws(CofferError) {
        do throws(CofferError) {
            try await store.update(grant) { (record) throws(CofferError) in
                record.state = .leaving(step: step.text)
            }
        } catch {
            guard error.code == .corrupt || error.code == .signInNeeded else { throw error }
        }
    }

    /// Takes the tokens into memory, and puts those that are on the disk aside there. A token that is damaged
    /// can only be removed.
    private func setAside(_ grant: GrantID, _ progress: inout Progress) async throws(CofferError) {
        var own: [PendingRevocation] = []
        var stored: [PendingRevocation] = []
        for kind in [TokenKind.refresh, .access] {
            let token: StoredToken?
            do throws(CofferError) {
                token = try await store.tokens.get(grant.tokenID(kind))
            } catch {
                guard error.code == .corrupt else { throw error }
                progress.damaged.insert(kind)
                continue
            }
            guard let token, !token.info.isStoredWhileLocked else { continue }
            let entry = PendingRevocation(
                kind, token.token, of: try await store.origin(of: token, grant), added: clock.wallClock())
            own.append(entry)
            // A token that never was on the disk does not get there now.
            if token.info.isEphemeral {
                progress.volatile.insert(kind)
            } else {
                stored.append(entry)
            }
        }
        do throws(CofferError) {
            try await store.addPendingRevocations(stored, of: grant)
        } catch {
            // A list that cannot be changed does not keep the session signed in.
            guard error.code == .corrupt || error.code == .unsupportedVersion else { throw error }
            progress.volatile.formUnion(stored.map(\.kind))
        }
        progress.tokens = own
        do throws(CofferError) {
            let waiting = try await store.pendingRevocations(grant)
            // An entry that was put aside earlier knows the issuer of its token.
            progress.tokens =
                own.map { entry in waiting.first { $0.isOf(entry.token) } ?? entry }
                + waiting.filter { entry in !own.contains { $0.isOf(entry.token) } }
        } catch {
            // Without the state, it is unknown which of them are in use: they are revoked later.
            guard error.code == .corrupt || error.code == .unsupportedVersion else { throw error }
        }
    }

    /// Removes the account's data and the passcode.
    private func removeStores(
        _ grant: GrantID, _ options: LogoutOptions, _ step: LogoutStep, _ progress: inout Progress
    ) async throws(CofferError) {
        // The passcode first: a wiped vault has none.
        if let passcode = options.passcode, try await store.vault.hasPasscode() {
            _ = try await store.vault.changePasscode(to: nil, current: passcode)
            progress.receipt.isPasscodeRemoved = true
        }
        guard step.removesStores else { return }
        let known = try await store.list() + store.listPendingRevocations()
        progress.hasOthers = known.contains { $0 != grant }
        let outcome = try await store.vault.handle(
            .grantRevoked(reason: "the user signed out", of: grant.tokenAccount),
            onRevocation: .wipe(.account))
        if case .accountWiped(let wiped) = outcome, let namespace = wiped.namespace {
            progress.receipt.isNamespaceWiped = true
            progress.receipt.mayLeaveSessions = namespace.mayLeaveSessions
        }
    }

    // MARK: The server

    /// Returns the URL at which a browser ends the user's session (OpenID Connect RP-Initiated Logout 1.0).
    /// It contains no token: a URL is written to histories and logs.
    private static func endSessionURL(_ endpoints: ServerEndpoints, _ subject: String?) -> HTTPSURL? {
        guard let url = try? endpoints.url(.endSession) else { return nil }
        var parameters = [(name: "client_id", value: endpoints.profile.clientID)]
        if let subject { parameters.append((name: "logout_hint", value: subject)) }
        return url.appending(query: parameters)
    }
}
