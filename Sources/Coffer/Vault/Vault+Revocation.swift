public import CofferBase

/// Support for processing revocations.
extension Vault {
    /// Processes one revocation.
    ///
    /// For a revoked grant, and for a verified command to wipe, ``events`` delivers
    /// ``VaultEvent/Kind/revoked`` before anything is done and ``VaultEvent/Kind/revocationProcessed``
    /// afterwards. With the policy ``RevocationPolicy/keep``, the program can take action itself; with any
    /// policy, it can show the result to the user.
    /// - Parameters:
    ///   - revocation: The revocation.
    ///   - policy: The action to take if a grant was revoked. A signed command contains its own action.
    /// - Returns: The outcome, even if the command is refused.
    /// - Throws: `busy` if another process holds the vault's lock for too long; `wiped` or `corrupt`; or an
    ///   error that ``wipe(_:reason:)`` throws.
    @discardableResult
    public func handle(
        _ revocation: Revocation, onRevocation policy: RevocationPolicy = .wipe(.account)
    ) async throws(CofferError) -> RevocationOutcome {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in
            try core.handle(revocation, onRevocation: policy)
        }
    }

    /// Polls a source once and processes its revocations: first the commands, in the order of their counters,
    /// and then the grants.
    ///
    /// If a command fails, only commands with a higher counter are held up, because accepting one of them
    /// would make the failed command a replay. The other revocations are processed. A command to erase
    /// everything does not wait for other commands.
    ///
    /// - Parameters:
    ///   - source: The source to poll.
    ///   - policy: The action to take if a grant was revoked.
    /// - Returns: The outcome of each revocation that was processed. Processing ends when the vault is wiped.
    /// - Throws: The source's error if polling fails; otherwise, the first error from
    ///   ``handle(_:onRevocation:)``, after the other revocations have been processed.
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
                if outcome.isFinal { await source.didHandle(revocation) }
            case .failure(let error): failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return outcomes
    }

    /// Polls a source repeatedly, and checks the dead-man's switch each time, until the calling task is
    /// cancelled.
    ///
    /// If the source fails, it is polled again after the pause: an unreachable source does not mean that
    /// anything was revoked. A revocation that failed is tried again, and so is a command that is not valid
    /// yet.
    ///
    /// - Parameters:
    ///   - source: The source to poll.
    ///   - pause: The time to wait between two polls.
    ///   - policy: The action to take if a grant was revoked.
    ///   - report: A closure that is called with each outcome and each failure. If a revocation is refused
    ///     repeatedly with the same error, the refusal is reported only once.
    /// - Throws: `wiped` if the vault was wiped.
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
                // The error may concern another vault; the next round checks whether this one was wiped.
                report(.failure(error))
            }
            var results: [RevocationRound.Result] = []
            do throws(CofferError) {
                results = try await handleAll(waiting, policy)
            } catch {
                // The task was cancelled; the loop ends.
                report(.failure(error))
            }
            var unhandled: [Revocation] = []
            for (revocation, result) in results {
                if case .failure(let error) = result, error.code == .wiped { throw error }
                if reports.isNew(revocation, result) { report(result) }
                if case .success(let outcome) = result, outcome.isFinal {
                    await source.didHandle(revocation)
                } else {
                    unhandled.append(revocation)
                }
            }
            waiting = source.repeatsUnhandled ? [] : unhandled.suffix(Self.maxUnhandledCount)
            try? await Task.sleep(for: pause, clock: .continuous)
        }
    }

    /// The maximum number of unhandled revocations to keep for sources that do not report them again.
    private static let maxUnhandledCount = 4096

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

/// The refusals that have already been reported. When the set is full, it is emptied.
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
                try end(reason.isEmpty ? "a grant was revoked" : reason, of: account, policy)
            }
        }
    }

    /// Carries out a command, or returns the refusal. If the vault cannot be read or changed now, throws an
    /// error instead, which does not concern the command itself.
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
            guard case .wipe = order.content.action else { return RevocationOutcome(try obey(order)) }
            return try announcing { () throws(CofferError) in RevocationOutcome(try obey(order)) }
        }
    }

    /// Applies the policy to a revoked grant.
    private func end(
        _ reason: String, of account: TokenAccount?, _ policy: RevocationPolicy
    ) throws(CofferError) -> RevocationOutcome {
        switch policy {
        case .wipe(.all):
            return .wiped(try VaultEraser(home: home, clock: clock).wipe(.all, reason: reason, by: self))
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

    /// Posts an event before `body` and another after it, even if `body` fails.
    private func announcing(
        _ body: () throws(CofferError) -> RevocationOutcome
    ) throws(CofferError) -> RevocationOutcome {
        events.post(VaultEvent(.revoked))
        do throws(CofferError) {
            let outcome = try body()
            events.post(VaultEvent(.revocationProcessed, revocation: outcome.result ?? .failed))
            return outcome
        } catch {
            events.post(VaultEvent(.revocationProcessed, revocation: .failed))
            throw error
        }
    }
}
