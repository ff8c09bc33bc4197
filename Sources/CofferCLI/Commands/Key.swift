import ArgumentParser

/// `coffer key`
struct KeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Derive a key by a documented scheme and print it.",
        discussion: "For other programs that store data under these schemes. The output is secret.",
        subcommands: [KeyDocumented.self, KeyDevice.self, KeyPBKDF2.self])
}
