package import CofferBase
import CofferEngine
package import SystemPackage

/// A file that starts `coffer` later: a unit of the user's systemd, or a service file of the user's bus.
package struct UserFile {
    let path: FilePath
    let content: String

    package init(path: FilePath, content: String) {
        self.path = path
        self.content = content
    }

    /// Returns a command as the line of a unit: systemd expands `%` and `$`, also inside quotes, and reads
    /// two of them as one.
    ///
    /// - Throws: `unsupported` if a word contains a line break.
    package static func unitLine(of command: [String]) throws(CofferError) -> String {
        let bytes = try busLine(of: command).utf8.flatMap { "%$".utf8.contains($0) ? [$0, $0] : [$0] }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns a command as the line of a bus's service file.
    ///
    /// - Throws: `unsupported` if a word contains a line break.
    package static func busLine(of command: [String]) throws(CofferError) -> String {
        guard !command.contains(where: { $0.utf8.contains(UInt8(ascii: "\n")) }) else {
            throw CofferError(
                .unsupported, "The path of the vault, of this program or of a file contains a line break.")
        }
        return command.map(quoted).joined(separator: " ")
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

    /// Returns the directory of the user's systemd units.
    package static func units() throws(CofferError) -> FilePath {
        try directory("XDG_CONFIG_HOME", ".config", "systemd/user")
    }

    /// Returns a directory below the one that an environment variable names, or else below a standard one.
    ///
    /// - Throws: `unsupported` if the environment names no home directory.
    package static func directory(
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
    package static func write(
        _ files: [UserFile], replacing isReplacing: Bool
    ) throws(CofferError) -> [FilePath] {
        for file in files where !isReplacing { try checkAbsent(file) }
        for file in files {
            guard let name = file.path.lastComponent else { continue }
            let directory = try makeDirectory(file.path.removingLastComponent())
            try directory.replace(FilePath(root: nil, [name]), with: Array(file.content.utf8).span)
        }
        return files.map(\.path)
    }

    private static func checkAbsent(_ file: UserFile) throws(CofferError) {
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
