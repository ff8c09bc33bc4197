import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferOAuth

/// The `coffer oauth revoke` command, which ends a session at the server and leaves the other data.
struct RevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Revoke a session's tokens and remove them; other data stays.",
        discussion: """
            The same as logout, but the vault of a user with the account's name stays.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var session: SessionOptions

    func run() async throws {
        let oauth = try await Sessions.open(global)
        let grant = try await Sessions.leaving(session.profile, account: session.account, in: oauth)
        let receipt = try await grant.logOut(LogoutOptions(stores: .keep))
        try await ReceiptText.report([receipt], of: session.profile, in: oauth, asJSON: global.json)
    }
}

/// The `coffer oauth logout` command, which signs sessions out.
struct LogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "Sign a session out, here first and then at the server.",
        discussion: """
            The session's tokens are removed, the vault of a user with the account's name is erased, and \
            the tokens are revoked at the server. If the server cannot be reached, they are kept as \
            waiting, cannot be used, and are revoked later, such as by coffer oauth logout --all. A message \
            names the tokens that wait; coffer oauth list lists them, too. They are sent only to the issuer \
            that they came from, and dropped after 30 days. If the server revokes no tokens, or announces no \
            endpoint for it, a message says so: they stay valid there until they expire. With --all, a \
            session that cannot be signed out does not stop the others: the exit code is that of the first \
            error.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: ArgumentHelp("The profile.", valueName: "name"))
    var profile: String?

    @Option(help: "The account; default: the one without a name, or that of the profile's only session.")
    var account: String?

    @Flag(help: "Sign out every session.")
    var all = false

    @Flag(help: "Print the address at which a browser ends the session at the server.")
    var endSession = false

    func run() async throws {
        guard all == (profile == nil), !all || account == nil else {
            throw CofferError(.invalidInput, "Specify either a profile or --all.")
        }
        let oauth = try await Sessions.open(global)
        if let profile {
            let grant = try await Sessions.leaving(profile, account: account, in: oauth)
            let receipt = try await grant.logOut(LogoutOptions(endSession: endSession))
            return try await ReceiptText.report([receipt], of: profile, in: oauth, asJSON: global.json)
        }
        var (receipts, failure) = try await oauth.resumeLogoutsCollecting()
        do throws(CofferError) {
            for (grant, stores) in Self.order(try await oauth.grants(), in: global.user) {
                do throws(CofferError) {
                    receipts.append(
                        try await grant.logOut(LogoutOptions(stores: stores, endSession: endSession)))
                } catch {
                    // A session that cannot be signed out does not keep the others from it.
                    failure = failure ?? error
                }
            }
        } catch {
            failure = failure ?? error
        }
        try await ReceiptText.report(receipts, failure, in: oauth, asJSON: global.json)
    }

    /// Returns the sessions in an order in which none is erased with a vault before it was revoked: the last
    /// session of an account takes the account's data with it, and the vault's own account is the last one.
    private static func order(
        _ grants: [Grant], in user: String?
    ) -> [(grant: Grant, stores: LogoutOptions.Stores)] {
        var early: [(grant: Grant, stores: LogoutOptions.Stores)] = []
        var late: [(grant: Grant, stores: LogoutOptions.Stores)] = []
        var own: [(grant: Grant, stores: LogoutOptions.Stores)] = []
        for (index, grant) in grants.enumerated() {
            let isLast = !grants[(index + 1)...].contains { $0.account.hasSameBytes(as: grant.account) }
            if !isLast {
                early.append((grant, .keep))
            } else if let user, grant.account.hasSameBytes(as: user) {
                own.append((grant, .remove))
            } else {
                late.append((grant, .remove))
            }
        }
        return early + late + own
    }
}

/// The receipts of sessions that were signed out.
enum ReceiptText {
    /// Writes the receipts and what still waits, and throws the first error afterwards.
    ///
    /// - Parameters:
    ///   - receipts: The receipts.
    ///   - failure: The first error so far; `nil` if there was none.
    ///   - profile: The profile whose waiting tokens to name; `nil` for all.
    ///   - oauth: The sessions of the vault.
    ///   - asJSON: Whether to write one JSON document.
    /// - Throws: The first error; its exit code alone if it is in the document.
    static func report(
        _ receipts: [LogoutReceipt], _ failure: CofferError? = nil, of profile: String? = nil,
        in oauth: OAuth, asJSON: Bool
    ) async throws {
        var failure = failure
        var waiting: [WaitingTokens] = []
        do throws(CofferError) {
            waiting = try await WaitingText.tokens(of: profile, in: oauth)
        } catch {
            failure = failure ?? error
        }
        try write(receipts, waiting, failure, asJSON: asJSON)
        guard let failure else { return }
        guard asJSON else { throw failure }
        Output.message("coffer: \(failure.advice)")
        throw ExitCode(failure.code.exitCode)
    }

    /// Writes the receipts. Whether the server knows is a message, because the session is gone in any case.
    private static func write(
        _ receipts: [LogoutReceipt], _ waiting: [WaitingTokens], _ failure: CofferError?, asJSON: Bool
    ) throws(CofferError) {
        if asJSON {
            var members: [(String, JSONDocument)] = [
                ("sessions", .list(receipts.map(document))),
                ("waiting", .list(waiting.map(WaitingText.document))),
            ]
            if let failure { members.append(("error", Failure.document(failure))) }
            try Output.json(.object(members))
        }
        for receipt in receipts {
            let name = receipt.profile + (receipt.account.isEmpty ? "" : "/" + receipt.account.printable)
            if let text = message(receipt, name) { Output.message(text) }
            if receipt.isNamespaceWiped {
                Output.message("coffer: The vault of the user \(receipt.account.printable) was erased.")
            }
            if receipt.mayLeaveSessions {
                Output.message(
                    "coffer: The vault that was erased with \(name) had other tokens. Sessions that they "
                        + "belonged to are not revoked at their servers.")
            }
            if let url = receipt.endSessionURL, !asJSON { try Output.line(url.text) }
        }
        for tokens in waiting { Output.message(WaitingText.message(tokens)) }
    }

    /// Returns why the server does not know that a session is over; `nil` if it knows.
    private static func message(_ receipt: LogoutReceipt, _ name: String) -> String? {
        guard !receipt.isRevokedAtServer else { return nil }
        let fates = [receipt.refreshToken, receipt.accessToken]
        guard !receipt.isRevocationPending else {
            return "coffer: The session \(name) is removed, but not revoked at the server yet."
        }
        let reason =
            fates.contains(.notRevoked)
            ? "and nothing of its tokens is left to do so later"
            : "which revokes no such tokens or announces no revocation_endpoint"
        return "coffer: The session \(name) is removed, but not revoked at the server, \(reason): they may "
            + "be valid there until they expire. To end the session now, use the server's own pages. If its "
            + "documentation has a revocation_endpoint, enter it for later sessions: coffer oauth profile "
            + "update \(receipt.profile) --endpoint revocation_endpoint=URL --accept."
    }

    private static func document(_ receipt: LogoutReceipt) -> JSONDocument {
        .object([
            ("profile", .text(receipt.profile)), ("account", .text(receipt.account)),
            ("refreshToken", .text(receipt.refreshToken.rawValue)),
            ("accessToken", .text(receipt.accessToken.rawValue)),
            ("isRevokedAtServer", .flag(receipt.isRevokedAtServer)),
            ("isUserVaultErased", .flag(receipt.isNamespaceWiped)),
            ("mayLeaveSessions", .flag(receipt.mayLeaveSessions)),
            ("endSessionURL", receipt.endSessionURL.map { .text($0.text) } ?? .none),
        ])
    }
}
