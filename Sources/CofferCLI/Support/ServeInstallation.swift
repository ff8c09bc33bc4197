import CofferBase
import CofferEngine
import SystemPackage

/// The two files that start `coffer serve` when a program on the user's bus asks for a Secret Service: a unit
/// of the user's systemd, and the service file of the bus, which names that unit.
struct ServeInstallation {
    private static let unit: FilePath = "coffer-serve.service"
    private static let activation: FilePath = "org.freedesktop.secrets.service"

    /// The command that starts the service, without quotes.
    let command: [String]

    /// A file to install.
    struct File {
        let path: FilePath
        let content: String
    }

    /// Returns the files for this user.
    ///
    /// - Throws: `unsupported` if the environment names no home directory, or if a path of the command
    ///   contains a line break.
    func files() throws(CofferError) -> [File] {
        guard !command.contains(where: { $0.utf8.contains(UInt8(ascii: "\n")) }) else {
            throw CofferError(.unsupported, "The path of the vault or of this program contains a line break.")
        }
        let words = command.map(Self.quoted)
        // systemd also expands these two, also inside quotes; D-Bus does not.
        let line = words.map(Self.doubled).joined(separator: " ")
        let units = try Self.directory("XDG_CONFIG_HOME", ".config", "systemd/user")
        let services = try Self.directory("XDG_DATA_HOME", ".local/share", "dbus-1/services")
        return [
            File(path: units.appending(Self.unit.components), content: Self.unitText(line)),
            File(
                path: services.appending(Self.activation.components),
                content: Self.serviceText(words.joined(separator: " "))),
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

    /// Quotes an argument. systemd and D-Bus both take double quotes with backslashes.
    private static func quoted(_ argument: String) -> String {
        let safe = argument.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "/._-+=:,@".utf8.contains(byte)
        }
        if safe, !argument.isEmpty { return argument }
        var quoted: [UInt8] = [UInt8(ascii: "\"")]
        for byte in argument.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): quoted += [UInt8(ascii: "\\"), byte]
            default: quoted.append(byte)
            }
        }
        return String(decoding: quoted + [UInt8(ascii: "\"")], as: UTF8.self)
    }

    /// Returns a word with each `%` and `$` twice, which systemd reads as one.
    private static func doubled(_ word: String) -> String {
        let bytes = word.utf8.flatMap { "%$".utf8.contains($0) ? [$0, $0] : [$0] }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func directory(
        _ variable: String, _ standard: String, _ below: String
    ) throws(CofferError) -> FilePath {
        if let path = Environment.path(variable), path.isAbsolute { return path.appending(below) }
        guard let home = Environment.path("HOME"), home.isAbsolute else {
            throw CofferError(.unsupported, "The variable HOME does not name your home directory. Set it.")
        }
        return home.appending(standard).appending(below)
    }

    /// Writes the files. An existing file with other content is replaced only if `isReplacing` is set.
    ///
    /// - Returns: The paths of the files.
    /// - Throws: `alreadyExists` if a file with other content exists; the error that prevents writing one.
    func install(replacing isReplacing: Bool) throws(CofferError) -> [FilePath] {
        let files = try files()
        for file in files where !isReplacing { try Self.checkAbsent(file) }
        for file in files {
            guard let name = file.path.lastComponent else { continue }
            let directory = try Self.makeDirectory(file.path.removingLastComponent())
            try directory.replace(FilePath(root: nil, [name]), with: Array(file.content.utf8).span)
        }
        return files.map(\.path)
    }

    private static func checkAbsent(_ file: File) throws(CofferError) {
        guard let present = try? Descriptor.open(file.path, .read).readAll(limit: 1 << 20) else { return }
        guard present == Array(file.content.utf8) else {
            throw CofferError(
                .alreadyExists,
                "The file \(file.path) exists and has other content. To replace it, add --replace.")
        }
    }

    /// Opens a directory, creating what is missing of it. Links on the path are followed, because home
    /// directories and the directories of settings often are links.
    private static func makeDirectory(_ path: FilePath) throws(CofferError) -> Descriptor {
        if let present = try? Descriptor.open(path.appending("."), [.read, .directory]) { return present }
        guard let last = path.lastComponent else { return try Descriptor.open(path, [.read, .directory]) }
        let name = FilePath(root: nil, [last])
        let parent = try makeDirectory(path.removingLastComponent())
        do throws(CofferError) {
            try parent.makeDirectory(name)
        } catch {
            guard error.code == .alreadyExists else { throw error }
        }
        return try parent.open(name, [.read, .directory])
    }
}
