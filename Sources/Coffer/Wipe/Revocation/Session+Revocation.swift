public import CofferBase

/// Being told that something was taken back.
extension Session {
    /// Handles one revocation.
    ///
    /// For a grant and for an order to wipe, ``events`` tells ``SessionEvent/Kind/revoked`` before anything
    /// is done and ``SessionEvent/Kind/revocationHandled`` afterwards, so that a program can act for itself,
    /// with the policy `keep`, or only show what happened.
    ///
    /// - Parameters:
    ///   - revocation: What came in.
    ///   - policy: What follows when a grant was taken back. A signed order says itself what follows.
    /// - Returns: What was done; also when an order was refused.
    /// - Throws: What hinders it: `wiped`, `busy`, `corrupt` and what ``wipe(_:reason:)`` throws.
    @discardableResult
    public func handle(
        _ revocation: Revocation, onRevocation policy: RevocationPolicy = .wipe
    ) async throws(CofferError) -> RevocationOutcome {
        let core = core
        return try await BlockingWork.run { _ throws(CofferError) in
            try core.handle(revocation, onRevocation: policy)
        }
    }

    /// Asks a source once and handles what it says, in order.
    ///
    /// - Parameters:
    ///   - source: Whom to ask.
    ///   - policy: What follows when a grant was taken back.
    /// - Returns: What became of each.
    /// - Throws: What the source throws, and as ``handle(_:onRevocation:)``.
    @discardableResult
    public func handleRevocations(
        from source: some RevocationSource, onRevocation policy: RevocationPolicy = .wipe
    ) async throws(CofferError) -> [RevocationOutcome] {
        var outcomes: [RevocationOutcome] = []
        for revocation in try await source.poll() {
            outcomes.append(try await handle(revocation, onRevocation: policy))
        }
        return outcomes
    }

    /// Asks a source again and again, and looks at the dead-man's switch as often, until the calling task is
    /// cancelled.
    ///
    /// A source that cannot be asked is asked again after the pause: being out of reach is no revocation.
    /// What could not be handled is tried again, too.
    ///
    /// - Parameters:
    ///   - source: Whom to ask.
    ///   - pause: How long to wait between two questions.
    ///   - policy: What follows when a grant was taken back.
    ///   - report: Told of each outcome and of each failure.
    /// - Throws: `wiped` when the vault is no more.
    public func followRevocations(
        from source: some RevocationSource, every pause: Duration = .seconds(60),
        onRevocation policy: RevocationPolicy = .wipe,
        _ report: @Sendable (Result<RevocationOutcome, CofferError>) -> Void = { _ in }
    ) async throws(CofferError) {
        var waiting: [Revocation] = []
        while !Task.isCancelled {
            do throws(CofferError) {
                try await checkContact()
                waiting += try await source.poll()
            } catch {
                guard error.code != .wiped else { throw error }
                report(.failure(error))
            }
            var failed: [Revocation] = []
            for revocation in waiting {
                do throws(CofferError) {
                    report(.success(try await handle(revocation, onRevocation: policy)))
                } catch {
                    guard error.code != .wiped else { throw error }
                    report(.failure(error))
                    failed.append(revocation)
                }
            }
            waiting = failed
            try? await Task.sleep(for: pause, clock: .continuous)
        }
    }
}

extension SessionCore {
    func handle(
        _ revocation: Revocation, onRevocation policy: RevocationPolicy
    ) throws(CofferError) -> RevocationOutcome {
        switch revocation {
        case .order(let bytes):
            do throws(CofferError) {
                let order = try verify(UnverifiedWipeOrder.read(bytes))
                guard case .wipe = order.order.action else { return .carriedOut(try carryOut(order)) }
                return try announcing { () throws(CofferError) in .carriedOut(try carryOut(order)) }
            } catch {
                guard Self.orderRefusals.contains(error.code) else { throw error }
                return .refused(error)
            }
        case .grant(let reason):
            return try announcing { () throws(CofferError) in
                switch policy {
                case .wipe:
                    let reason = reason.isEmpty ? "a grant was taken back" : reason
                    return .wiped(try Wiper(home: home, time: time).wipe(.all, reason: reason, by: self))
                case .lock:
                    close(.revoked)
                    return .locked
                case .keep: return .kept
                }
            }
        }
    }

    /// An event before and one after what `body` does, also when it fails.
    private func announcing<Result>(
        _ body: () throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        hub.post(SessionEvent(.revoked))
        defer { hub.post(SessionEvent(.revocationHandled)) }
        return try body()
    }

    /// What an order is refused with when nothing is wrong with the vault.
    private static let orderRefusals: Set<CofferError.Code> = [
        .orderMalformed, .orderTooLong, .orderUnsupportedVersion, .orderUnknownKey, .orderBadSignature,
        .orderForeign, .orderCounterOutOfRange, .orderReplayed, .orderNotYetValid, .orderExpired,
        .alreadyExists, .absent, .refused, .unsupported,
    ]
}
