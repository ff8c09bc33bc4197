import ArgumentParser

/// The `coffer key` command, which groups the subcommands that derive keys.
struct KeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Derive a key with a documented scheme and print it.",
        discussion: "For use with other programs that encrypt data with these schemes. The output is secret.",
        subcommands: [KeyDocumented.self, KeyDevice.self, KeyPBKDF2.self])
}
