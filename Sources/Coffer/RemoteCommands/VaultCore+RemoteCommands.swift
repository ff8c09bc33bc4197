import CofferBase
import CofferEngine
import CofferVault
import SystemPackage

/// Functions that verify and record commands as they arrive.
///
/// A command's counter, together with the part of the vault to erase, is stored on the disk before anything
/// is erased. After a crash between these two steps, the next opening of the vault carries out the command.
extension VaultCore {
    /// Returns the command record; `nil` if the vault has none. Reads without the vault directory's lock,
    /// because one slot is always intact.
    func readRemoteCommandRecord() throws(CofferError) -> RemoteCommandRecord? {
        let vault = try home.openVault()
        return try home.mappingMissingFiles { () throws(CofferError) in
            try remoteCommandRecord(in: vault)?.payload
        }
    }

    /// Returns the error if the command record is permanently unreadable; otherwise `nil`.
    func orderRecordDamage() throws(CofferError) -> CofferError? {
        do throws(CofferError) {
            _ = try readRemoteCommandRecord()
            return nil
        } catch {
            guard RemoteCommandRecord.lastingDamage.contains(error.code) else { throw error }
            return error
        }
    }

    private func remoteCommandRecord(
        in vault: borrowing Descriptor, repairing: Bool = false
    ) throws(CofferError) -> AuthenticatedRecord<RemoteCommandRecord>.Contents? {
        guard try vault.status(of: RemoteCommandRecord.record.name) != nil else { return nil }
        return try RemoteCommandRecord.record.read(device: device, in: vault, repairing: repairing)
    }

    /// Changes the record under the vault directory's lock. If `change` throws, nothing is changed.
    func changeRemoteCommandRecord<Outcome>(
        _ change: (inout RemoteCommandRecord) throws(CofferError) -> Outcome
    ) throws(CofferError) -> Outcome {
        // An error of `change` does not mean that the vault is damaged, so it bypasses the mapping of errors.
        var refusal: CofferError?
        let result: Outcome? = try home.withExclusiveVault { (vault) throws(CofferError) in
            let stored = try remoteCommandRecord(in: vault, repairing: true)
            var record = stored?.payload ?? RemoteCommandRecord(clock)
            let result: Outcome
            do throws(CofferError) {
                result = try change(&record)
            } catch {
                refusal = error
                return nil
            }
            if record != stored?.payload { try write(record, over: stored, in: vault) }
            return result
        }
        guard let result else { throw refusal ?? CofferError.wiped }
        return result
    }

    private func write(
        _ record: RemoteCommandRecord, over old: AuthenticatedRecord<RemoteCommandRecord>.Contents?,
        in vault: borrowing Descriptor
    ) throws(CofferError) {
        guard let old else {
            return try RemoteCommandRecord.record.createAtomically(record, device: device, in: vault)
        }
        try RemoteCommandRecord.record.update(old, to: record, device: device, in: vault)
    }

    /// The current time in seconds since 1970, according to the vault's clock; 0 before 1970.
    var wallSeconds: UInt64 { UInt64(clamping: clock.wallClock().components.seconds) }

    /// Verifies a command without changing anything.
    func verify(_ order: SignedCommand) throws(CofferError) -> VerifiedCommand {
        try verificationResult(of: order).orThrow()
    }

    /// Verifies a command like ``verify(_:)``, but distinguishes a refusal from a failure.
    func verificationResult(
        of order: SignedCommand
    ) throws(CofferError) -> Result<VerifiedCommand, CommandRefusal> {
        try verificationResult(of: order, by: readRemoteCommandRecord() ?? RemoteCommandRecord(clock))
    }

    /// Verifies a command, unless it is pending: a pending command was verified before its counter was
    /// accepted.
    private func verificationResult(
        of order: SignedCommand, by record: RemoteCommandRecord
    ) throws(CofferError) -> Result<VerifiedCommand, CommandRefusal> {
        if record.pending(order.digest) != nil { return .success(VerifiedCommand(order)) }
        return try record.rules(vaultID: device.vaultID, now: wallSeconds).verificationResult(of: order)
    }

    /// Verifies a command again, under the lock, and accepts its counter. Returns the pending command for a
    /// command to erase; otherwise `nil`.
    func accept(_ order: VerifiedCommand) throws(CofferError) -> Result<PendingCommand?, CommandRefusal> {
        try changeRemoteCommandRecord { (record) throws(CofferError) in
            if let pending = record.pending(order.digest) { return .success(pending) }
            if case .failure(let refusal) = try verificationResult(of: order.signed, by: record) {
                return .failure(refusal)
            }
            var pending: PendingCommand?
            if case .wipe(let scope) = order.content.action {
                switch try target(of: scope) {
                case .failure(let refusal): return .failure(refusal)
                case .success(let vaultID):
                    pending = PendingCommand(order.signed, scope, for: vaultID)
                }
            }
            try record.requireRoom(for: order.content.action, pending)
            do throws(CommandRefusal) {
                try record.accept(order, pending, clock: clock)
                return .success(pending)
            } catch {
                return .failure(error)
            }
        }
    }

    /// Returns the vault that a command with this scope is for, if its id is known. If the user has no vault,
    /// returns a refusal, so that no counter is accepted.
    private func target(of scope: WipeScope) throws(CofferError) -> Result<VaultID?, CommandRefusal> {
        guard case .user(let name) = scope else { return .success(device.vaultID) }
        let absent = CommandRefusal(
            .absent, "The user specified in the command has no namespace in this vault.")
        let inside: WipeTarget
        do throws(CofferError) {
            inside = WipeTarget(try VaultEraser(home: home, clock: clock).namespace(of: name))
        } catch {
            switch error.code {
            case .notInitialised: return .failure(absent)
            case .wiped: throw error
            case .refused where VaultLocation(path: home.path).parentVault != nil: throw error
            // The namespace cannot be inspected now. The command is recorded and tried again, and does not
            // block others.
            default: return .success(nil)
            }
        }
        guard inside.isVault, inside.state?.phase != .wiped else { return .failure(absent) }
        return .success(inside.ids.first)
    }

    /// Returns whether a command to erase has been accepted but is not finished yet.
    func isPending(_ order: SignedCommand) -> Bool {
        (try? readRemoteCommandRecord())?.pending(order.digest) != nil
    }
}
