public import CofferBase

/// Being told that something was taken back.
extension Vault {
    /// Handles one revocation.
    ///
    /// For a grant and for an order to wipe, ``events`` tells ``VaultEvent/Kind/revoked`` before anything
    /// is done and ``VaultEvent/Kind/revocationProcessed`` afterwards, so that a program can act for itself,
    /// with the policy `keep`, or only show what happened.
    ///
    /// - Parameters:
    ///   - revocation: What came in.
    ///   - policy: What follows when a grant was taken back. A signed order says itself what follows.
    /// - Returns: What was done; also when an order was refused.
    /// - Throws: What hinders it: `wiped`, `busy`, `corrupt` and what ``wipe(_:reason:)`` throws.
    @discardableResult
    public func handle(
        _ revocation: Revocation, onRevocation policy: RevocationPolicy = .wipe(.account)
    ) async throws(CofferError) -> RevocationOutcome {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            try core.handle(revocation, onRevocation: policy)
        }
    }

    /// Asks a source once and handles what it says: orders by their counters, then grants.
    ///
    /// A failure stops only orders of a higher counter, which would make a replay of the one that failed; the
    /// rest is handled. An order to erase everything waits for none.
    ///
    /// - Parameters:
    ///   - source: Whom to ask.
    ///   - policy: What follows when a grant was taken back.
    /// - Returns: What became of each, up to the end of the vault.
    /// - Throws: What the source throws; the first error of ``handle(_:onRevocation:)``, after the rest was
    ///   handled.
    @discardableResult
    public func handleRevocations(
        from source: some RevocationSource, onRevocation policy: RevocationPolicy = .wipe(.account)
    ) async throws(CofferError) -> [RevocationOutcome] {
        var outcomes: [RevocationOutcome] = []
        var failure: CofferError?
        for (revocation, result) in try await handleAll(try await source.poll(), policy) {
            switch result {
            case .success(let outcome):
                outcomes.append(outcome)
                if outcome.isFinal { await source.settled(revocation) }
            case .failure(let error): failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return outcomes
    }

    /// Asks a source again and again, and looks at the dead-man's switch as often, until the calling task is
    /// cancelled.
    ///
    /// A source that cannot be asked is asked again after the pause: being out of reach is no revocation.
    /// A revocation that could not be handled is tried again, and so is an order that is not valid yet.
    ///
    /// - Parameters:
    ///   - source: Whom to ask.
    ///   - pause: How long to wait between two questions.
    ///   - policy: What follows when a grant was taken back.
    ///   - report: Told of each outcome and of each failure; of a refusal that stays the same, once.
    /// - Throws: `wiped` when the vault is no more.
    public func followRevocations(
        from source: some RevocationSource, every pause: Duration = .seconds(60),
        onRevocation policy: RevocationPolicy = .wipe(.account),
        _ report: @Sendable (Result<RevocationOutcome, CofferError>) -> Void = { _ in }
    ) async throws(CofferError) {
        var waiting: [Revocation] = []
        var reports = RevocationReports()
        while !Task.isCancelled {
            do throws(CofferError) {
                try await checkHeartbeat()
            } catch {
                guard error.code != .wiped else { throw error }
                report(.failure(error))
            }
            do throws(CofferError) {
                waiting += try await source.poll()
            } catch {
                guard error.code != .wiped else { throw error }
                report(.failure(error))
            }
            var results: [RevocationRound.Result] = []
            do throws(CofferError) {
                results = try await handleAll(waiting, policy)
            } catch {
                // Cancelled: the loop ends.
                report(.failure(error))
            }
            var unsettled: [Revocation] = []
            for (revocation, result) in results {
                if case .failure(let error) = result, error.code == .wiped { throw error }
                if reports.isNew(revocation, result) { report(result) }
                if case .success(let outcome) = result, outcome.isFinal {
                    await source.settled(revocation)
                } else {
                    unsettled.append(revocation)
                }
            }
            waiting = source.repeatsUnsettled ? [] : unsettled.suffix(Self.maxWaitingCount)
            try? await Task.sleep(for: pause, clock: .continuous)
        }
    }

    /// How much is kept for sources that do not tell it again.
    private static let maxWaitingCount = 4096

    private func handleAll(
        _ revocations: [Revocation], _ policy: RevocationPolicy
    ) async throws(CofferError) -> [RevocationRound.Result] {
        guard !revocations.isEmpty else { return [] }
        let core = core
        return try await BlockingExecutor.run { cancellation throws(CofferError) in
            var round = RevocationRound(core, policy)
            return round.handle(revocations) { cancellation.isCancelled }
        }
    }
}

/// Which refusals a listener has been told of, the newest of them.
private struct RevocationReports {
    private var told: [Int: CofferError.Code] = [:]
    private static let maxCount = 1 << 17

    mutating func isNew(
        _ revocation: Revocation, _ result: Result<RevocationOutcome, CofferError>
    ) -> Bool {
        guard case .success(.refused(let error)) = result else { return true }
        if told.count >= Self.maxCount { told = [:] }
        return told.updateValue(error.code, forKey: revocation.hashValue) != error.code
    }
}

extension VaultCore {
    func handle(
        _ revocation: Revocation, onRevocation policy: RevocationPolicy
    ) throws(CofferError) -> RevocationOutcome {
        switch revocation {
        case .order(let bytes): return try handle(bytes)
        case .grantRevoked(let reason, let account):
            return try announcing { () throws(CofferError) in
                try end(reason.isEmpty ? "a grant was taken back" : reason, of: account, policy)
            }
        }
    }

    /// Carries out an order, or says why not. Only what was judged is a refusal: a home that cannot be read
    /// or changed now says nothing of the order.
    private func handle(_ bytes: [UInt8]) throws(CofferError) -> RevocationOutcome {
        let order: SignedCommand
        do throws(CofferError) {
            order = try SignedCommand.read(bytes)
        } catch {
            guard SignedCommand.refusals.contains(error.code) else { throw error }
            return .refused(error)
        }
        switch try verificationResult(of: order) {
        case .failure(let refusal): return .refused(refusal.reason)
        case .success(let order):
            guard case .wipe = order.order.action else { return RevocationOutcome(try obey(order)) }
            return try announcing { () throws(CofferError) in RevocationOutcome(try obey(order)) }
        }
    }

    /// Does what the policy says of a grant.
    private func end(
        _ reason: String, of account: TokenAccount?, _ policy: RevocationPolicy
    ) throws(CofferError) -> RevocationOutcome {
        switch policy {
        case .wipe(.all):
            return .wiped(try VaultEraser(home: home, time: time).wipe(.all, reason: reason, by: self))
        case .wipe(.account):
            if let account { return .accountWiped(try wipe(account, reason: reason)) }
            close(.revoked)
            return .locked
        case .lock:
            close(.revoked)
            return .locked
        case .keep: return .kept
        }
    }

    /// An event before and one after what `body` does, also when it fails.
    private func announcing(
        _ body: () throws(CofferError) -> RevocationOutcome
    ) throws(CofferError) -> RevocationOutcome {
        hub.post(VaultEvent(.revoked))
        do throws(CofferError) {
            let outcome = try body()
            hub.post(VaultEvent(.revocationProcessed, revocation: outcome.result ?? .failed))
            return outcome
        } catch {
            hub.post(VaultEvent(.revocationProcessed, revocation: .failed))
            throw error
        }
    }
}
