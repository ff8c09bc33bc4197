package import ArgumentParser

/// A command, or a group of commands, that another program runs.
package protocol ForwardedCommand: ParsableCommand {
    /// The names of the commands in the group; none if it is no group.
    static var subcommandNames: [String] { get }
}
