import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

/// The two units of the user's systemd that make a backup each day.
struct BackupTimer {
    private static let service: FilePath = "coffer-backup.service"
    private static let timer: FilePath = "coffer-backup.timer"

    /// The command that makes the backup, without quotes.
    let command: [String]

    /// Writes the units. An existing file with other content is replaced only if `isReplacing` is set.
    ///
    /// - Returns: The paths of the files.
    /// - Throws: The errors of ``UserFile/unitLine(of:)`` and ``UserFile/write(_:replacing:)``.
    func install(replacing isReplacing: Bool) throws(CofferError) -> [FilePath] {
        let (line, units) = (try UserFile.unitLine(of: command), try UserFile.units())
        return try UserFile.write(
            [
                UserFile(path: units.appending(Self.service.components), content: Self.serviceText(line)),
                UserFile(path: units.appending(Self.timer.components), content: Self.timerText),
            ], replacing: isReplacing)
    }

    private static func serviceText(_ line: String) -> String {
        """
        [Unit]
        Description=Backup of the Coffer vault
        Documentation=man:coffer(1)

        [Service]
        Type=oneshot
        ExecStart=\(line)
        NoNewPrivileges=yes
        RestrictAddressFamilies=AF_UNIX
        RestrictNamespaces=yes
        SystemCallArchitectures=native

        """
    }

    private static let timerText = """
        [Unit]
        Description=Backup of the Coffer vault each day

        [Timer]
        OnCalendar=daily
        Persistent=true

        [Install]
        WantedBy=timers.target

        """
}
