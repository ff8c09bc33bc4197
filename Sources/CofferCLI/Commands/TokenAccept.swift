import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer token accept` command, which replaces a stored token with a value that arrived while the vault
/// was locked.
struct TokenAccept: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accept",
        abstract:
            "Replace a stored token with a value that arrived while the vault was locked; print its version.",
        discussion: """
            While the vault is locked, any of your programs can submit a value, and nothing shows which \
            program did. A value that would replace a stored one must wait, unless the new value comes with \
            proof that it continues the stored one: coffer token list shows the waiting value with a \
            fingerprint, as did the coffer token put that submitted it. Accept a value only if you know \
            where it comes from. The fingerprint identifies that value alone; values that arrive later are \
            not accepted with it.
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

/// The `coffer token reject` command, which removes values that arrived while the vault was locked.
struct TokenReject: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reject",
        abstract:
            "Remove values that arrived while the vault was locked; print how many. Keeps the stored value.",
        discussion: """
            Needs no passcode, except for values that no unlock has checked yet: these require an unlocked \
            vault, or --passcode-fd to unlock it for this command. Without --fingerprint, all values that \
            are waiting under the name are removed.
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

    /// Rejects the pending values for a token and returns their number. Unlocks the vault only if the
    /// rejection requires it or if a passcode was given.
    private func reject(_ id: TokenID) async throws(CofferError) -> Int {
        if global.passcodeFd == nil {
            do throws(CofferError) {
                let vault = try await VaultOpener.vault(global)
                return try await vault.tokens.reject(id, fingerprint: choice.fingerprint)
            } catch {
                guard error.code == .locked else { throw error }
            }
        }
        return try await VaultOpener.withPasscode(global) { (vault) throws(CofferError) in
            try await vault.tokens.reject(id, fingerprint: choice.fingerprint)
        }
    }
}

/// The option that selects one of several pending values that share a name.
struct PendingChoice: ParsableArguments {
    @Option(help: ArgumentHelp("The fingerprint that coffer token list shows.", valueName: "hex"))
    var fingerprint: String?

    var none: CofferError {
        guard fingerprint != nil else {
            return CofferError(
                .absent,
                "No value with this name is waiting to be accepted. To list the waiting values, run "
                    + "coffer token list.")
        }
        return CofferError(
            .absent,
            "No value with this name and fingerprint is waiting to be accepted. To list the waiting "
                + "values, run coffer token list.")
    }

    /// Returns the error for a missing fingerprint. The fingerprint is required even if only one value is
    /// pending, because another value may have arrived since the user read the list.
    func missing(_ id: TokenID, in tokens: TokenStore) async throws(CofferError) -> CofferError {
        let waiting = try await tokens.pending().filter { $0.info.id == id }.map(\.fingerprint)
        guard !waiting.isEmpty else { return none }
        return CofferError(
            .ambiguous,
            "Choose a waiting value with --fingerprint. The values with this name have the fingerprints "
                + "\(waiting.joined(separator: ", ")).",
            entries: waiting)
    }
}
