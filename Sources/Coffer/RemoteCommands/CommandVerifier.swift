package import CofferBase
package import FoundationEssentials

/// A verifier that checks whether a vault accepts a command, based on the vault's pinned keys, its identity,
/// the counters it has seen, and the time.
package struct CommandVerifier {
    private let rules: SignedDocumentRules
    /// The counter of the last accepted command, heartbeats excluded; 0 if there is none.
    let lastCommand: UInt64
    /// The counter of the last accepted heartbeat; 0 if there is none.
    let lastHeartbeat: UInt64

    package init(
        keys: [AdministratorKey], vaultID: UUID, deviceID: DeviceID?, lastCommand: UInt64,
        lastHeartbeat: UInt64, now: UInt64
    ) {
        rules = SignedDocumentRules(keys: keys, vaultID: vaultID, deviceID: deviceID, now: now)
        self.lastCommand = lastCommand
        self.lastHeartbeat = lastHeartbeat
    }

    /// Verifies a command like ``verificationResult(of:)``, but throws the reason for a refusal.
    package func verify(_ order: SignedCommand) throws(CofferError) -> VerifiedCommand {
        try verificationResult(of: order).orThrow()
    }

    /// Runs the checks on a command in a fixed sequence. Returns the verified command, or a refusal with the
    /// error code of the first check that failed.
    func verificationResult(
        of order: SignedCommand
    ) throws(CofferError) -> Result<VerifiedCommand, CommandRefusal> {
        let last = order.content.action == .heartbeat ? lastHeartbeat : lastCommand
        if let refusal = try rules.refusal(of: order, after: last) { return .failure(refusal) }
        return .success(VerifiedCommand(order))
    }
}
