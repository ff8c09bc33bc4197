package import CofferBase
import CofferEngine
import CofferVault

extension VaultCore {
    /// Returns the record of the last backup. Throws `absent` if there was none.
    func lastBackup() throws(CofferError) -> LastBackupRecord {
        try LastBackupRecord.record.read(device: device, in: home.openVault()).payload
    }

    /// Checks when the last backup was made.
    func backupChecks() -> [SecurityCheck] {
        let name = "backup"
        let last: LastBackupRecord
        do throws(CofferError) {
            last = try lastBackup()
        } catch {
            guard error.code == .absent else { return [.notChecked(name, error)] }
            let isRequired = (try? managed.policy().flag(.requireBackup)) == true
            return [
                SecurityCheck(
                    name, isRequired ? .missing : .advisory,
                    "No backup of this vault is recorded, so a lost disk means a lost vault."
                        + (isRequired ? " The administrator's policy requires one (RequireBackup)." : ""))
            ]
        }
        let age = clock.wallClock().nanoseconds - last.time
        let days = max(0, age / 86_400_000_000_000)
        return [
            SecurityCheck(
                name, days > 31 ? .advisory : .ok,
                "The last backup is \(days) day\(days == 1 ? "" : "s") old. "
                    + "It can restore \(last.movable) item\(last.movable == 1 ? "" : "s") on another device.")
        ]
    }
}

extension Vault {
    /// Records the time of a backup. Blocks.
    package func noteBackup(at time: Int64, movable: Int) throws(CofferError) {
        let core = core
        let new = LastBackupRecord(time: time, movable: UInt64(movable))
        let record = LastBackupRecord.record
        try core.home.withExclusiveVault { (vault) throws(CofferError) in
            guard try vault.status(of: record.name) != nil else {
                return try record.createAtomically(new, device: core.device, in: vault)
            }
            do throws(CofferError) {
                let old = try record.read(device: core.device, in: vault, repairing: true)
                try record.update(old, to: new, device: core.device, in: vault)
            } catch {
                // What a crash tore says nothing that is worth keeping. A newer release's record stays.
                guard error.code == .corrupt || error.code == .foreign else { throw error }
                try record.createAtomically(new, device: core.device, in: vault)
            }
        }
    }
}
