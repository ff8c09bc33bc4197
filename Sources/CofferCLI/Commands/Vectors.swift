import ArgumentParser

/// `coffer vectors`
struct VectorsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vectors",
        abstract: "Check the cryptography against test vectors.",
        subcommands: [VectorsVerify.self])
}
