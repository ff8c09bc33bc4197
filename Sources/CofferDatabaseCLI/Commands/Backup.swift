import ArgumentParser
import CofferBase
import CofferCommandLine

/// The `coffer backup` command, which groups the subcommands for backups of the whole vault.
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Back up the whole vault to one file, and restore it.",
        discussion: """
            A backup is an age file with a tar archive inside: age -d and tar -x bring back everything that \
            may leave this device, without coffer.

            Items in a ThisDeviceOnly class, which is the default, are in a backup only as the vault has \
            them sealed. They can be restored only in this vault and never on another device. coffer reclass \
            gives items the class whenUnlocked.

            To back up every day, see the systemd units in the documentation (Backup).
            """,
        subcommands: [BackupCreate.self, BackupVerify.self, BackupList.self, BackupRestore.self])
}
