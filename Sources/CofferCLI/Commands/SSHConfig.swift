import ArgumentParser
import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

/// The `coffer ssh config` command, which prints what to add to other programs' settings.
struct SSHConfig: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Print what to add to the settings of ssh, systemd and git.",
        discussion: "Changes nothing.")

    @OptionGroup var global: NoVaultOptions

    @Option(help: ArgumentHelp("The agent's socket.", valueName: "path"), completion: .file())
    var socket: String?

    func run() throws(CofferError) {
        let given = if let socket { try FilePathArgument.path(socket) } else { try SSHSocketPlace.usual() }
        let path = given.isAbsolute ? given : Environment.workingDirectory?.pushing(given) ?? given
        // systemd looks for programs in the system's directories only.
        let program = String(decoding: try CurrentExecutable.path(ofSibling: "coffer"), as: UTF8.self)
        guard !global.json else { return try Output.json(.object([("socket", .text(path.string))])) }
        let text = """
            # Add to ~/.ssh/config:
            Host *
                IdentityAgent "\(path)"

            # Or set in the shell's profile, for programs that do not read ~/.ssh/config:
            export SSH_AUTH_SOCK="\(path)"

            # ~/.config/systemd/user/coffer-ssh-agent.socket, so that the agent starts at the first use:
            [Socket]
            ListenStream=\(path)
            SocketMode=0600
            DirectoryMode=0700
            [Install]
            WantedBy=sockets.target

            # ~/.config/systemd/user/coffer-ssh-agent.service:
            [Service]
            ExecStart=\(program) ssh-agent

            # Then: systemctl --user daemon-reload && systemctl --user enable --now coffer-ssh-agent.socket

            # Signed commits, with the line that coffer key public ALIAS prints:
            git config --global gpg.format ssh
            git config --global user.signingkey "key::$(coffer key public ALIAS)"
            git config --global commit.gpgsign true
            """
        try Output.line(text)
    }
}
