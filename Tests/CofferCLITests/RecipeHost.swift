import Foundation
import Testing
import TestSupport

/// A machine for one recipe: a user's home directory with `coffer` in PATH, and directories for the paths
/// that belong to root. Everything goes with its owner.
final class RecipeHost {
    private let folder: URL
    private let page: RecipePage

    init() throws {
        page = try RecipePage()
        folder = FileManager.default.temporaryDirectory.appending(path: "coffer-test-\(UUID().uuidString)")
        for name in ["home/.local/bin", "bin", "etc", "lib", "tmp", "run"] {
            try FileManager.default.createDirectory(
                at: folder.appending(path: name), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        }
        try FileManager.default.createSymbolicLink(
            atPath: path("home/.local/bin/coffer"), withDestinationPath: CommandRun.cofferPath)
    }

    deinit {
        _ = try? CommandRun.coffer("wipe", "--yes", "--home", path("home/.local/share/coffer"))
        try? FileManager.default.removeItem(at: folder)
    }

    /// The path of something in the machine's directory.
    func path(_ name: String) -> String { folder.appending(path: name).path(percentEncoded: false) }

    /// A recipe, with root's paths in this machine's directory.
    func recipe(_ name: String) throws -> String {
        var text = try #require(page.blocks[name], "There is no recipe \(name).")
        for (place, own) in [
            ("/etc/hello", "etc/hello"), ("/var/lib/hello", "lib/hello"),
            ("/usr/local/bin/hello", "bin/hello"), ("/run/secrets", "run"),
        ] {
            text = text.replacingOccurrences(of: place, with: path(own))
        }
        return text
    }

    /// Writes a file; programs can be run.
    func write(_ name: String, _ text: String, isProgram: Bool = false) throws {
        try Data(text.utf8).write(to: folder.appending(path: name))
        try FileManager.default.setAttributes(
            [.posixPermissions: isProgram ? 0o700 : 0o600], ofItemAtPath: path(name))
    }

    /// Runs commands in the home directory.
    func run(_ script: String, input: String = "") throws -> CommandRun {
        let all = Self.prelude + script
        return try CommandRun.run(
            "bash", ["-euo", "pipefail", "-c", all], input: Array(input.utf8), environment: environment)
    }

    /// Runs commands in the home directory, on a terminal where their prompts are answered in order.
    func onTerminal(_ answers: [String], _ script: String) throws -> TerminalRun {
        try TerminalRun.run(
            answers, ["bash", "-euo", "pipefail", "-c", Self.prelude + script], environment: environment)
    }

    /// Whether a program is on this machine and starts.
    static func has(_ program: String) -> Bool {
        (try? CommandRun.run(program, ["--version"]))?.code == 0
    }

    /// The variables through which a user's own settings would change a recipe.
    private static let prelude = """
        unset COFFER_HOME XDG_DATA_HOME XDG_CONFIG_HOME GIT_CONFIG_GLOBAL DOCKER_CONFIG AWS_PROFILE \
            AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
        cd "$HOME"

        """

    private var environment: [String: String] {
        let inherited = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return [
            "HOME": path("home"), "PATH": path("home/.local/bin") + ":" + inherited, "TMPDIR": path("tmp"),
            "XDG_RUNTIME_DIR": path("run"), "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere",
            "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "",
            "SSH_ASKPASS": "",
        ]
    }
}
