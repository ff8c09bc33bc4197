import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine

/// The `coffer file cat` command, which writes a file's decrypted content to standard output.
struct FileCat: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cat", abstract: "Write the decrypted content to standard output.",
        discussion: """
            Every chunk is authenticated before it is written. If the command fails midway, discard its \
            output. --range takes offsets as HTTP does: 0-499 is the first 500 bytes, and 500- is \
            everything after them. With --json, the field contentBase64 contains the bytes, at most 1 MiB, \
            in Base64.

            On a terminal, the command prints only text: bytes that the terminal could interpret as control \
            characters are refused, with exit code 11, unless --force is specified.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var file: FileArgument

    @Option(help: ArgumentHelp("Write only these bytes, first to last.", valueName: "A-B"))
    var range: String?

    @Flag(help: "Write to a terminal even bytes that it could interpret as control characters.")
    var force = false

    func run() async throws {
        let reference = try file.reference()
        let wanted = try range.map { text throws(CofferError) in try Self.parse(text) }
        let vault = try await VaultOpener.unlocked(global)
        let id = try await reference.id(in: vault)
        guard !global.json else { return try await printDocument(vault, id, wanted) }
        let output = try ContentOutput(forcing: force)
        try await vault.files.readChunks(of: id, range: wanted, context: file.boundBytes) {
            (bytes) throws(CofferError) in
            try output.write(bytes)
        }
        try output.finish()
    }

    /// Prints the content as a JSON document. The document is built in memory, so it is printed either
    /// completely or not at all.
    private func printDocument(
        _ vault: Vault, _ id: FileID, _ range: Range<Int64>?
    ) async throws {
        let length = try await vault.files.info(for: id, context: file.boundBytes).length
        let wanted = (range ?? 0..<length).clamped(to: 0..<length)
        guard wanted.count <= Self.maxDocumentLength else {
            throw CofferError(
                .invalidInput,
                "--json prints at most \(Self.maxDocumentLength >> 20) MiB. Select a part of the "
                    + "file with --range.")
        }
        try await vault.files.withDecryptedBytes(
            of: id, range: wanted, context: file.boundBytes
        ) { (bytes) throws(CofferError) in
            try Output.content("contentBase64", bytes, asJSON: true)
        }
    }

    private static let maxDocumentLength = 1 << 20

    private static func parse(_ text: String) throws(CofferError) -> Range<Int64> {
        let parts = text.parts(between: "-", keepsEmpty: true)
        guard parts.count == 2, let first = Int64(parts[0]), first >= 0 else { throw malformed }
        guard !parts[1].isEmpty else { return first..<Int64.max }
        guard let last = Int64(parts[1]), last >= first, last < Int64.max else { throw malformed }
        return first..<last + 1
    }

    private static var malformed: CofferError {
        CofferError(.invalidInput, "--range takes two offsets, as in 0-499, or one, as in 500-.")
    }
}
