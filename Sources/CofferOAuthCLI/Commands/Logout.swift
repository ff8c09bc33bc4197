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
        try ReceiptText.write([receipt], asJSON: global.json)
    }
}

/// The `coffer oauth logout` command, which signs sessions out.
struct LogoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout", abstract: "Sign a session out, here first and then at the server.",
        discussion: """
            The session's tokens are removed, the vault of a user with the account's name is erased, and \
            the tokens are revoked at the server. If the server cannot be reached, they are kept as \
            waiting, cannot be used, and are revoked later, such as by coffer oauth logout --all.
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
        var receipts: [LogoutReceipt] = []
        let options = LogoutOptions(endSession: endSession)
        if let profile {
            let grant = try await Sessions.leaving(profile, account: account, in: oauth)
            receipts.append(try await grant.logOut(options))
        } else {
            receipts += try await oauth.resumeLogouts()
            for grant in try await oauth.grants() { receipts.append(try await grant.logOut(options)) }
        }
        try ReceiptText.write(receipts, asJSON: global.json)
    }
}

/// The receipts of sessions that were signed out.
enum ReceiptText {
    /// Writes the receipts. Whether the server knows is a message, because the session is gone in any case.
    static func write(_ receipts: [LogoutReceipt], asJSON: Bool) throws(CofferError) {
        if asJSON { try Output.json(.object([("sessions", .list(receipts.map(document)))])) }
        for receipt in receipts {
            let name = receipt.profile + (receipt.account.isEmpty ? "" : "/" + receipt.account.printable)
            if !receipt.isRevokedAtServer {
                Output.message("coffer: The session \(name) is removed, but not revoked at the server.")
            }
            if receipt.isNamespaceWiped {
                Output.message("coffer: The vault of the user \(receipt.account.printable) was erased.")
            }
            if let url = receipt.endSessionURL, !asJSON { try Output.line(url.text) }
        }
    }

    private static func document(_ receipt: LogoutReceipt) -> JSONDocument {
        .object([
            ("profile", .text(receipt.profile)), ("account", .text(receipt.account)),
            ("refreshToken", .text(receipt.refreshToken.rawValue)),
            ("accessToken", .text(receipt.accessToken.rawValue)),
            ("isRevokedAtServer", .flag(receipt.isRevokedAtServer)),
            ("isUserVaultErased", .flag(receipt.isNamespaceWiped)),
            ("endSessionURL", receipt.endSessionURL.map { .text($0.text) } ?? .none),
        ])
    }
}
