import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

/// The `coffer file rename` command, which changes a stored file's name.
struct FileRename: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename", abstract: "Give a file another name.",
        discussion: """
            The content does not change, and the id stays the same. Several files may have the same name, \
            but each of them can then be specified only by its id; a message says so.
            """,
        aliases: ["mv"])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var file: FileArgument

    @Argument(help: "The new name, without a slash.")
    var name: String

    func run() async throws {
        let reference = try file.reference()
        guard let new = FileNameBytes.component(ProgramArguments.bytes(name)) else {
            throw CofferError(.invalidInput, "The new name must be a file name without a slash.")
        }
        let vault = try await VaultOpener.unlocked(global)
        let id = try await reference.id(in: vault)
        try await vault.files.rename(id, to: new, context: file.boundBytes)
        await SharedNames.report([new], in: vault)
        if global.json {
            try Output.json(.object([("id", .text(id.description)), ("name", .text(new.string))]))
        }
    }
}
