import ArgumentParser
import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import FoundationEssentials

/// `coffer token put`
struct TokenPut: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Store the token on standard input, byte for byte; print its version.",
        discussion: "Up to 1 MiB. A newline at the end is part of the token: use printf rather than echo.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: TokenName

    @Option(
        name: .customLong("class"),
        help: "When it can be read: whenUnlockedThisDeviceOnly or afterFirstUnlockThisDeviceOnly.")
    var protection = ProtectionClass.whenUnlockedThisDeviceOnly

    @Option(
        help: ArgumentHelp("When it stops being valid, as in 2027-01-31T12:00:00Z.", valueName: "ISO8601"))
    var expires: String?

    @Option(help: ArgumentHelp("An OAuth scope; may be repeated.", valueName: "scope"))
    var scope: [String] = []

    @Option(help: ArgumentHelp("Store only over this version; 0: only when there is none.", valueName: "n"))
    var ifVersion: UInt64?

    func run() async throws {
        let id = try name.id()
        let expiry = try expires.map { text throws(CofferError) in try Self.date(text) }
        let session = try await Opening.unlocked(global)
        let secret = try SecretInput.all(from: Descriptor.standardInput(), limit: Token.longest)
        let version = try await session.tokens.put(
            Token(SecretBytes(secret)), for: id, class: protection, expires: expiry, scopes: scope,
            ifVersion: ifVersion)
        if global.json {
            try Output.json(.object([("version", .number(Int(version)))]))
        } else {
            try Output.line(String(version))
        }
    }

    private static func date(_ text: String) throws(CofferError) -> Date {
        guard let date = try? Date(text, strategy: .iso8601) else {
            throw CofferError(.invalidInput, "--expires takes a date such as 2027-01-31T12:00:00Z.")
        }
        return date
    }
}

/// What names a token on the command line.
struct TokenName: ParsableArguments {
    @Argument(help: "The service, such as a host name.")
    var service: String

    @Argument(help: "The account at the service.")
    var account: String

    @Option(help: "What the token is for: access, refresh, id or other.")
    var kind = TokenKind.access

    func id() throws(CofferError) -> TokenID { try TokenID(service: service, account: account, kind: kind) }
}
