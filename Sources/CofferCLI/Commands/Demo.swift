import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

/// The `coffer demo` command, which demonstrates Coffer on a real file in a temporary vault.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Demonstrate Coffer on a real file in a temporary vault, and check each step.",
        discussion: "Exits with 0 only if every check passed. The file is never changed.")

    @OptionGroup var global: NoVaultOptions

    @Argument(help: "A file to protect. Without one, the demo creates a sample.", completion: .file())
    var file: String?

    func run() async throws {
        let directory = try DemoDirectory.make()
        defer { directory.remove() }
        let path =
            try file.map { text throws(CofferError) in try FilePathArgument.path(text) }
            ?? directory.makeSample()
        let demo = try Demo(directory: directory, file: path)
        let steps = await demo.run()
        guard !global.json else {
            try Output.json(
                .object([("held", .flag(steps.allSatisfy(\.held))), ("steps", .list(steps.map(\.document)))]))
            guard steps.allSatisfy(\.held) else { throw ExitCode(1) }
            return
        }
        for step in steps { try Output.line(step.line) }
        guard steps.allSatisfy(\.held) else {
            try Output.line("A check failed.")
            throw ExitCode(1)
        }
        try Output.line("All \(steps.count) checks passed.")
    }
}
