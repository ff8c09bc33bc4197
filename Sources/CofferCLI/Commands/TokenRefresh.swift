import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import FoundationEssentials

/// The `coffer token refresh` command, which replaces a token with another command's output.
struct TokenRefresh: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh",
        abstract: "Replace a token with a command's output, once for all concurrent refreshes.",
        discussion: """
            The command reads the current token on standard input and writes the new one to standard \
            output, byte for byte. If several processes refresh the same token at the same time, one runs \
            its command; the others wait and end without running theirs. If the command fails, prints \
            nothing or takes too long, the token does not change. Prints the version now stored; with \
            --json, also whether this process refreshed it.

            With --on-revocation, a command that exits with 77 reports that the token was revoked \
            (invalid_grant); the exit code is then 11, with the error code tokenRevoked. wipe erases all \
            tokens for that service and account, and the vault of the user with the account's name, if there \
            is one; wipe-all erases the whole vault; lock evicts every key; keep does nothing. Without the \
            option, 77 is an ordinary failure.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: TokenName

    @Option(
        help: ArgumentHelp(
            "How long to wait for another process, and how long the command may then take.",
            valueName: "seconds"))
    var deadline = 60

    @OptionGroup var expiry: ExpiryOptions

    @Option(help: "The action if the command ends with 77: wipe, wipe-all, lock or keep.")
    var onRevocation: RevocationArgument?

    @Argument(parsing: .postTerminator, help: "The command and its arguments, after --.")
    var command: [String]

    /// The exit code with which a command reports `invalid_grant`, which is EX_NOPERM in sysexits.h.
    private static let revokedCode: Int32 = 77

    func run() async throws {
        try StartRoom.requireThreads()
        let id = try name.id()
        try ReservedServices.checkIsWritable(id)
        guard !command.isEmpty else { throw CofferError(.invalidInput, "Specify a command after --.") }
        guard (1...86_400).contains(deadline) else {
            throw CofferError(.invalidInput, "--deadline takes 1 to 86400 seconds.")
        }
        let life = try life()
        let vault = try await VaultOpener.unlocked(global)
        let signals = TerminationSignals.install()
        let result = await Task { try await refresh(id, vault, life) }.result
        signals.release()
        guard let refreshed = try result.get() else {
            throw await vault.tokens.absence(of: id)
        }
        let version = Int(refreshed.info.version ?? 0)
        guard global.json else { return try Output.line(String(version)) }
        try Output.json(.object([("version", .number(version)), ("refreshed", .flag(refreshed.didRefresh))]))
    }

    /// Parses the new token's lifetime. Rejects a date in the past, which would store an expired token.
    private func life() throws(CofferError) -> TimeArgument? {
        guard let life = try expiry.time() else { return nil }
        guard life.seconds(from: Date()) >= 0 else {
            throw CofferError(.invalidInput, "--expires does not accept a date in the past.")
        }
        return life
    }

    private func refresh(
        _ id: TokenID, _ vault: Vault, _ life: TimeArgument?
    ) async throws -> RefreshResult? {
        let arguments = command.map { ProgramArguments.bytes($0) }
        let limit = Duration.seconds(deadline)
        let word = onRevocation
        return try await vault.tokens.refresh(id, deadline: limit, onRevocation: word?.policy ?? .keep) {
            (current, _) async throws(CofferError) in
            let token = try await BlockingExecutor.run { cancellation throws(CofferError) in
                try Self.exchange(current, arguments, limit, revocation: word) {
                    cancellation.isCancelled
                }
            }
            return RefreshResponse(token, expires: life.map { $0.date(from: Date()) })
        }
    }

    /// Runs the command with the current token as its input and returns the new token from its output.
    private static func exchange(
        _ current: Token, _ arguments: [[UInt8]], _ deadline: Duration, revocation: RevocationArgument?,
        isCancelled: () -> Bool
    ) throws(CofferError) -> Token {
        // A signal may have arrived while this process waited for its turn.
        guard TerminationSignals.received == nil else {
            throw CofferError(.cancelled, "A signal interrupted the refresh before the token was changed.")
        }
        let outcome = try current.exposing { (bytes) throws(CofferError) in
            try Subprocess.run(
                arguments, input: bytes, limit: Token.maxByteCount, deadline: deadline,
                isCancelled: isCancelled)
        }
        if outcome.code == Self.revokedCode, let revocation {
            // Reported only if the revocation action succeeded; otherwise its failure is the error.
            throw CofferError(.tokenRevoked, "The issuer revoked the token: \(revocation.outcome).")
        }
        guard outcome.code == 0 else {
            throw CofferError(
                .inputOutput,
                "The token was not refreshed, because the command ended with exit code \(outcome.code).")
        }
        let output = outcome.takeOutput()
        guard output.count > 0 else {
            throw CofferError(
                .inputOutput, "The token was not refreshed, because the command printed no new token.")
        }
        return try Token(SecretBytes(output))
    }
}
