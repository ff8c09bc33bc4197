public import CofferBase

/// The outcome of one revocation.
public enum RevocationOutcome: Sendable {
    /// A signed command was carried out.
    case carriedOut(RemoteCommand.Outcome)
    /// The grant was revoked, and the policy wiped the vault.
    case wiped(WipeReceipt)
    /// The grant was revoked, and the policy erased the account's data.
    case accountWiped(WipedAccount)
    /// The grant was revoked, and the policy evicted every key.
    case locked
    /// The grant was revoked, and the policy left the reaction to the program.
    case kept
    /// The vault refused the command for the given reason. Nothing was changed.
    case refused(CofferError)

    init(_ result: Result<RemoteCommand.Outcome, CommandRefusal>) {
        switch result {
        case .success(let outcome): self = .carriedOut(outcome)
        case .failure(let refusal): self = .refused(refusal.reason)
        }
    }

    /// The result to report in the event after processing; `nil` for a refused command.
    var result: RevocationResult? {
        switch self {
        case .carriedOut: .carriedOut
        case .wiped: .vaultWiped
        case .accountWiped: .accountWiped
        case .locked: .locked
        case .kept: .kept
        case .refused: nil
        }
    }

    /// Whether the outcome is final: processing the same revocation again cannot change it. A refusal is not
    /// final if the passage of time, a corrected clock, another pinned key or a new namespace can change it.
    /// This applies to `orderNotYetValid`, `orderExpired`, `orderUnknownKey`, `orderForeign` and `absent`.
    public var isFinal: Bool {
        guard case .refused(let error) = self else { return true }
        return ![.orderNotYetValid, .orderExpired, .orderUnknownKey, .orderForeign, .absent].contains(
            error.code)
    }
}
