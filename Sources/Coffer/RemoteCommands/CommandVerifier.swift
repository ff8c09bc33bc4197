package import CofferBase
package import FoundationEssentials

/// A verifier that checks whether a vault accepts a command, based on the vault's pinned keys, its identity,
/// the counters it has seen, and the time.
package struct CommandVerifier {
    let keys: [AdministratorKey]
    let vaultID: UUID
    /// The machine's identity; `nil` if the machine has none.
    let deviceID: DeviceID?
    /// The counter of the last accepted command, heartbeats excluded; 0 if there is none.
    let lastCommand: UInt64
    /// The counter of the last accepted heartbeat; 0 if there is none.
    let lastHeartbeat: UInt64
    /// The time of the verification, in seconds since 1970.
    let now: UInt64

    package init(
        keys: [AdministratorKey], vaultID: UUID, deviceID: DeviceID?, lastCommand: UInt64,
        lastHeartbeat: UInt64, now: UInt64
    ) {
        self.keys = keys
        self.vaultID = vaultID
        self.deviceID = deviceID
        self.lastCommand = lastCommand
        self.lastHeartbeat = lastHeartbeat
        self.now = now
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
        let isSigned = keys.contains(order.claimedSigner) ? try order.hasValidSignature() : false
        do throws(CommandRefusal) {
            return .success(try verified(order, isSigned: isSigned))
        } catch {
            return .failure(error)
        }
    }

    private func verified(
        _ order: SignedCommand, isSigned: Bool
    ) throws(CommandRefusal) -> VerifiedCommand {
        let claimed = order.content
        guard keys.contains(order.claimedSigner) else {
            throw CommandRefusal(
                .orderUnknownKey, "The command is signed with a key that is not pinned in this vault.")
        }
        guard isSigned else {
            throw CommandRefusal(.orderBadSignature, "The signature does not match the command's key.")
        }
        guard matches(claimed.target) else {
            throw CommandRefusal(
                .orderForeign, "The command is intended for another vault or another device.")
        }
        guard RemoteCommand.counters.contains(claimed.counter) else {
            throw CommandRefusal(
                .orderCounterOutOfRange, "The command's counter, \(claimed.counter), is out of range.")
        }
        let last = claimed.action == .heartbeat ? lastHeartbeat : lastCommand
        guard claimed.counter > last else {
            throw CommandRefusal(
                .orderReplayed,
                "The command's counter is \(claimed.counter), but a command with the counter \(last) was "
                    + "already accepted.")
        }
        guard let issued = CommandEncoding.seconds(claimed.issued), issued <= now else {
            throw CommandRefusal(
                .orderNotYetValid, "The command is not valid yet according to this machine's clock.")
        }
        guard let expires = CommandEncoding.seconds(claimed.expires), now < expires else {
            throw CommandRefusal(.orderExpired, "The command has expired.")
        }
        return VerifiedCommand(order)
    }

    private func matches(_ target: RemoteCommand.Target) -> Bool {
        switch target {
        case .vault(let id): id == vaultID
        case .device(let id): id == deviceID
        }
    }
}
