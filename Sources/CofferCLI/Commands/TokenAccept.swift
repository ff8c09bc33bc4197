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
            coffer token list shows it with a fingerprint, and so did the coffer token put that handed it \
            in. Accept it when you know where it comes from. The fingerprint belongs to that value alone: \
            what comes in meanwhile is not accepted.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: TokenName
    @OptionGroup var choice: PendingChoice

    func run() async throws {
        let id = try name.id()
        let tokens = try await VaultOpener.unlocked(global).tokens
        guard let fingerprint = choice.fingerprint else { throw try await choice.missing(id, in: tokens) }
        guard let version = try await tokens.accept(id, fingerprint: fingerprint) else { throw choice.none }
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
        discussion: """
            Needs no passcode, except for values that no unlock has looked at yet: then the vault has to be \
            unlocked, or --passcode-fd unlocks it for this command. Without --fingerprint, all that wait \
            under the name are removed.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: TokenName
    @OptionGroup var choice: PendingChoice

    func run() async throws {
        let id = try name.id()
        let count = try await reject(id)
        guard count > 0 else { throw choice.none }
        if global.json {
            try Output.json(.object([("rejected", .number(count))]))
        } else {
            try Output.line(String(count))
        }
    }

    /// Without a passcode where that is enough.
    private func reject(_ id: TokenID) async throws(CofferError) -> Int {
        if global.passcodeFd == nil {
            do throws(CofferError) {
                let session = try await VaultOpener.session(global)
                return try await session.tokens.reject(id, fingerprint: choice.fingerprint)
            } catch {
                guard error.code == .locked else { throw error }
            }
        }
        return try await VaultOpener.withPasscode(global) { (session) throws(CofferError) in
            try await session.tokens.reject(id, fingerprint: choice.fingerprint)
        }
    }
}

/// Which of several values that wait under one name.
struct PendingChoice: ParsableArguments {
    @Option(help: ArgumentHelp("Which value, as coffer token list shows it.", valueName: "hex"))
    var fingerprint: String?

    var none: CofferError {
        guard fingerprint != nil else {
            return CofferError(.absent, "No value of this name waits to be accepted: see coffer token list.")
        }
        return CofferError(
            .absent,
            "No value with this fingerprint waits under this name, and nothing was changed: see coffer token "
                + "list.")
    }

    /// Why none can be accepted without a choice: another may have come in since the list was read.
    func missing(_ id: TokenID, in tokens: TokenStore) async throws(CofferError) -> CofferError {
        let waiting = try await tokens.pending().filter { $0.info.id == id }.map(\.fingerprint)
        guard !waiting.isEmpty else { return none }
        return CofferError(
            .ambiguous,
            "Say which value with --fingerprint. Under this name wait: \(waiting.joined(separator: ", ")).",
            entries: waiting)
    }
}
