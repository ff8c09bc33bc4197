import CofferBase

/// A round that processes the commands and grants that arrived together. To lose none of them, it processes
/// the commands first, in the order of their counters, and then the grants.
struct RevocationRound {
    typealias Result = (revocation: Revocation, result: Swift.Result<RevocationOutcome, CofferError>)

    private let core: VaultCore
    private let policy: RevocationPolicy
    /// The verifier for a first check, created once for all commands, because most commands in a directory
    /// are for other vaults or were seen before. A command that passes is verified again when it is carried
    /// out.
    private var rules: Swift.Result<CommandVerifier, CofferError>?
    /// Whether a command has failed that commands with a higher counter must not overtake.
    private var isHeldUp = false

    init(_ core: VaultCore, _ policy: RevocationPolicy) {
        self.core = core
        self.policy = policy
    }

    /// Processes all of the revocations; stops once the vault is wiped.
    mutating func handle(_ revocations: [Revocation], isCancelled: () -> Bool) -> [Result] {
        var seen: Set<[UInt8]> = []
        var orders: [ReceivedCommand] = []
        var grants: [Revocation] = []
        for revocation in revocations {
            switch revocation {
            case .order(let bytes): if seen.insert(bytes).inserted { orders.append(ReceivedCommand(bytes)) }
            case .grantRevoked: grants.append(revocation)
            }
        }
        var results: [Result] = []
        for order in ReceivedCommand.inSequence(orders) where !isCancelled() {
            let result = handle(order)
            results.append((.order(order.bytes), result))
            if Self.isTheEnd(result) { return results }
        }
        for grant in grants where !isCancelled() {
            let result = attempt(grant)
            results.append((grant, result))
            if Self.isTheEnd(result) { return results }
        }
        return results
    }

    private mutating func handle(
        _ order: ReceivedCommand
    ) -> Swift.Result<RevocationOutcome, CofferError> {
        if let read = order.read, let refusal = refusal(of: read) { return refusal }
        guard !isHeldUp || !order.waitsItsTurn else {
            return .failure(
                CofferError(
                    .busy,
                    "The command cannot be executed until a command with a lower counter is finished. Try "
                        + "again later."))
        }
        let result = attempt(.order(order.bytes))
        switch result {
        case .success(.carriedOut): rules = nil
        case .failure:
            rules = nil
            // If its counter was accepted, the command is pending in the vault, and a higher counter does not
            // make it a replay.
            if let read = order.read, !core.isPending(read) { isHeldUp = true }
        default: break
        }
        return result
    }

    private func attempt(_ revocation: Revocation) -> Swift.Result<RevocationOutcome, CofferError> {
        do throws(CofferError) {
            return .success(try core.handle(revocation, onRevocation: policy))
        } catch {
            return .failure(error)
        }
    }

    /// Returns the refusal from the first check; `nil` if the check does not refuse the command.
    private mutating func refusal(
        of order: SignedCommand
    ) -> Swift.Result<RevocationOutcome, CofferError>? {
        let rules = self.rules ?? currentRules()
        self.rules = rules
        do throws(CofferError) {
            // A replay may be a command that is being carried out now.
            guard case .failure(let refusal) = try rules.get().verificationResult(of: order),
                refusal.reason.code != .orderReplayed
            else { return nil }
            return .success(.refused(refusal.reason))
        } catch {
            return nil
        }
    }

    private func currentRules() -> Swift.Result<CommandVerifier, CofferError> {
        do throws(CofferError) {
            let record = try core.readRemoteCommandRecord() ?? RemoteCommandRecord(core.clock)
            return .success(try record.rules(vaultID: core.device.vaultID, now: core.wallSeconds))
        } catch {
            return .failure(error)
        }
    }

    private static func isTheEnd(_ result: Swift.Result<RevocationOutcome, CofferError>) -> Bool {
        switch result {
        case .failure(let error): error.code == .wiped
        case .success(.carriedOut(.wiped(let receipt))), .success(.wiped(let receipt)):
            receipt.scope == WipeScope.all.name
        case .success: false
        }
    }
}
