import ArgumentParser

/// The `coffer vectors` command, which groups the subcommands for test vectors.
struct VectorsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vectors",
        abstract: "Check the cryptography against test vectors.",
        subcommands: [VectorsVerify.self])
}
