import ArgumentParser
import Coffer
import CofferBase
import CofferEngine
import SystemPackage

/// `coffer file cat`
struct FileCat: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cat", abstract: "Write the decrypted content to standard output.",
        discussion: """
            Every piece is authentic when it is written. If the command fails in the middle, discard what \
            came out. --range takes offsets as HTTP does: 0-499 are the first 500 bytes, 500- is everything \
            behind them.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var file: FileArgument

    @Option(help: ArgumentHelp("Only these bytes, first to last.", valueName: "A-B"))
    var range: String?

    func run() async throws {
        let id = try file.fileID()
        let wanted = try range.map { text throws(CofferError) in try Self.parse(text) }
        let session = try await Opening.unlocked(global)
        try await session.files.readChunks(of: id, range: wanted) { (bytes) throws(CofferError) in
            try Output.bytes(bytes)
        }
    }

    private static func parse(_ text: String) throws(CofferError) -> Range<Int64> {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let first = Int64(parts[0]), first >= 0 else { throw malformed }
        guard !parts[1].isEmpty else { return first..<Int64.max }
        guard let last = Int64(parts[1]), last >= first, last < Int64.max else { throw malformed }
        return first..<last + 1
    }

    private static var malformed: CofferError {
        CofferError(.invalidInput, "--range takes two offsets, as in 0-499, or one, as in 500-.")
    }
}

/// `coffer file export`
struct FileExport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the decrypted content to a new file, which must not exist yet.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var file: FileArgument

    @Argument(help: "Where to.", completion: .file())
    var destination: String

    func run() async throws {
        let id = try file.fileID()
        let session = try await Opening.unlocked(global)
        try await session.files.export(
            id, to: FilePath(destination), progress: ProgressBar("exporting").report)
        if global.json { try Output.json(.object([("id", .text(id.description))])) }
    }
}
