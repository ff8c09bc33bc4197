import ArgumentParser

/// The `coffer ssh` command, which groups the subcommands that prepare SSH for the agent.
struct SSHCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ssh", abstract: "Move SSH keys into the vault, and set up ssh and git for the agent.",
        discussion: "The agent itself is coffer ssh-agent.",
        subcommands: [SSHImport.self, SSHConfig.self])
}
