import Foundation
import Testing
import TestSupport

/// Runs the scenarios of Tests/SSH/agent.py, with OpenSSH's own programs.
@Suite("coffer ssh-agent with other programs", .serialized)
struct SSHAgentProgramTests {
    /// Whether OpenSSH's server is installed. Scripts/setup-packages --tests installs it.
    private static let hasServer = FileManager.default.isExecutableFile(atPath: "/usr/sbin/sshd")

    @Test(
        "Real programs sign in and sign, and are refused what they must not have",
        .enabled(if: hasServer, "needs openssh-server"),
        arguments: [
            "login", "signatures", "ssh_add", "confirm", "transcript", "hostile", "command", "imports",
            "openssl", "weak_keys", "questions",
        ])
    func scenario(_ name: String) throws {
        let run = try CommandRun.run(
            "python3",
            [PackageRoot.path + "Tests/SSH/agent.py", "--coffer", CommandRun.cofferPath, "--only", name],
            seconds: 300)
        #expect(run.code == 0 && run.text == "\(name) ok\n", "\(run.text)\(run.errorText)")
    }
}
