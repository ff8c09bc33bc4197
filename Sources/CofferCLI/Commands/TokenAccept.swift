import ArgumentParser
import Coffer
import CofferBase

/// `coffer token accept`
struct TokenAccept: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accept",
        abstract: "Put a value that came while locked in the place of the stored one; print its version.",
        discussion: """
            While the vault is locked, every program of yours can hand in a value, and nothing says which \
            one did. One that would replace a stored value and cannot prove that it continues it waits: \
            coffer token list shows it. Accept it when you know where it comes from.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: TokenName
    @OptionGroup var choice: PendingChoice

    func run() async throws {
        let id = try name.id()
        let session = try await Opening.unlocked(global)
        guard let version = try await session.tokens.accept(id, number: choice.number) else {
            throw PendingChoice.none
        }
        if global.json {
            try Output.json(.object([("version", .number(Int(version)))]))
        } else {
            try Output.line(String(version))
        }
    }
}

/// `coffer token reject`
struct TokenReject: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reject",
        abstract: "Remove values that came while locked; the stored one stays; print how many.",
        discussion: "Needs no passcode. Without --number, all that wait under the name are removed.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: TokenName
    @OptionGroup var choice: PendingChoice

    func run() async throws {
        let id = try name.id()
        let session = try await Opening.session(global)
        let count = try await session.tokens.reject(id, number: choice.number)
        guard count > 0 else { throw PendingChoice.none }
        if global.json {
            try Output.json(.object([("rejected", .number(count))]))
        } else {
            try Output.line(String(count))
        }
    }
}

/// Which of several values that wait under one name.
struct PendingChoice: ParsableArguments {
    @Option(help: ArgumentHelp("Which of several, as coffer token list numbers them.", valueName: "n"))
    var number: UInt64?

    static var none: CofferError {
        CofferError(.absent, "No value of this name waits to be accepted: see coffer token list.")
    }
}
