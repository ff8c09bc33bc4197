import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

/// The two files that start `coffer serve` when a program on the user's bus asks for a Secret Service: a unit
/// of the user's systemd, and the service file of the bus, which names that unit.
struct ServeInstallation {
    private static let unit: FilePath = "coffer-serve.service"
    private static let activation: FilePath = "org.freedesktop.secrets.service"

    /// The command that starts the service, without quotes.
    let command: [String]

    /// Returns the files for this user.
    ///
    /// - Throws: `unsupported` if the environment names no home directory, or if a path of the command
    ///   contains a line break.
    func files() throws(CofferError) -> [UserFile] {
        let (line, busLine) = (try UserFile.unitLine(of: command), try UserFile.busLine(of: command))
        let units = try UserFile.units()
        let services = try UserFile.directory("XDG_DATA_HOME", ".local/share", "dbus-1/services")
        return [
            UserFile(path: units.appending(Self.unit.components), content: Self.unitText(line)),
            UserFile(
                path: services.appending(Self.activation.components), content: Self.serviceText(busLine)),
        ]
    }

    private static func unitText(_ line: String) -> String {
        """
        [Unit]
        Description=Secret Service of the Coffer vault
        Documentation=man:coffer(1)

        [Service]
        Type=dbus
        BusName=org.freedesktop.secrets
        ExecStart=\(line)
        Restart=on-failure
        RestartPreventExitStatus=6 12 13
        NoNewPrivileges=yes
        RestrictAddressFamilies=AF_UNIX
        RestrictNamespaces=yes
        SystemCallArchitectures=native

        [Install]
        WantedBy=default.target

        """
    }

    private static func serviceText(_ line: String) -> String {
        """
        [D-BUS Service]
        Name=org.freedesktop.secrets
        Exec=\(line)
        SystemdService=\(unit)

        """
    }

    /// Writes the files. An existing file with other content is replaced only if `isReplacing` is set.
    ///
    /// - Returns: The paths of the files.
    /// - Throws: The errors of ``UserFile/write(_:replacing:)``.
    func install(replacing isReplacing: Bool) throws(CofferError) -> [FilePath] {
        try UserFile.write(files(), replacing: isReplacing)
    }
}
