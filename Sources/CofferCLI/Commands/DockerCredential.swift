import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine

/// The `coffer docker-credential` command, a credential helper that Docker runs as
/// `docker-credential-coffer`.
struct DockerCredential: AsyncParsableCommand {
    static let name = "docker-credential"
    static let configuration = CommandConfiguration(
        commandName: name, abstract: "Credential helper for Docker: stores registry passwords.",
        discussion: """
            Link this program as docker-credential-coffer into a directory in PATH and put "credsStore": \
            "coffer" into Docker's config.json. The action is list, get, store, erase or version. As Docker \
            requires, errors go to standard output and the command ends with 1. Passwords are stored as \
            tokens for the service docker:URL; a password that contains a newline or a NUL byte is refused. \
            Unlock the vault first.
            """)

    private static let prefix = "docker:"
    private static let maxURLLength = 1 << 16

    @OptionGroup var global: GlobalOptions

    @Argument(help: "list, get, store, erase or version.")
    var action: String

    func run() async throws {
        do throws(CofferError) {
            switch action {
            case "list": try await list()
            case "get": try await get()
            case "store": try await store()
            case "erase": try await erase()
            case "version": try Output.line("\(ProgramName.docker) (coffer) unreleased")
            default: throw CofferError(.invalidInput, "Unknown credential action `\(action)`")
            }
        } catch {
            try Output.line(error.advice)
            throw ExitCode(1)
        }
    }

    private func list() async throws(CofferError) {
        let infos = try await tokens().readable().filter(Self.isOurs)
        try Output.json(.object(infos.map { (Self.url($0), .text($0.id.account)) }))
    }

    private func get() async throws(CofferError) {
        let url = try Self.serverURL()
        let tokens = try await tokens()
        guard let info = try await Self.stored(url, in: tokens).vouchedFor.last,
            let secret = try await tokens.get(info.id)?.token
        else { throw CofferError(.absent, "credentials not found in native keychain") }
        let line = try SecretJSON.line([
            ("ServerURL", try Token(copying: url)), ("Username", try Token(copying: info.id.account)),
            ("Secret", secret),
        ])
        try Output.bytes(line.span)
    }

    /// Stores the credential from standard input. Docker supports only one user per registry, so entries for
    /// other users are removed.
    private func store() async throws(CofferError) {
        let input = try SecretInput.all(from: Descriptor.standardInput(), limit: 4 * Token.maxByteCount)
        let members = try SecretJSON.members(of: input.span)
        let url = try Self.text(members[Array("ServerURL".utf8)])
        guard !url.isEmpty else { throw Self.noURL }
        let username = try Self.text(members[Array("Username".utf8)])
        guard !username.isEmpty else { throw CofferError(.invalidInput, "no credentials username") }
        let id = try TokenID(service: Self.prefix + url, account: username)
        let secret = if let secret = members[Array("Secret".utf8)] { secret } else { try Token(copying: "") }
        guard !secret.exposing({ SecretJSON.breaksLine($0) }) else {
            throw CofferError(
                .invalidInput, "The password was not stored, because it contains a newline or a NUL byte.")
        }
        let tokens = try await tokens()
        try await tokens.put(secret, for: id)
        await KeptClass.report(of: id, in: tokens)
        for info in try await Self.stored(url, in: tokens) where info.id != id {
            try await tokens.remove(info.id)
        }
    }

    private func erase() async throws(CofferError) {
        let url = try Self.serverURL()
        let tokens = try await tokens()
        for info in try await Self.stored(url, in: tokens) { try await tokens.remove(info.id) }
    }

    private func tokens() async throws(CofferError) -> TokenStore {
        try await VaultOpener.unlockedForHelper(global).tokens
    }

    private static func isOurs(_ info: TokenInfo) -> Bool {
        info.id.kind == .access && info.id.service.utf8.hasPrefix(prefix)
    }

    private static func url(_ info: TokenInfo) -> String {
        String(decoding: info.id.service.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
    }

    private static func stored(_ url: String, in tokens: TokenStore) async throws(CofferError) -> [TokenInfo]
    {
        try await tokens.readable().filter { isOurs($0) && Self.url($0).hasSameBytes(as: url) }
    }

    /// Reads the registry's URL from standard input, without surrounding white space.
    private static func serverURL() throws(CofferError) -> String {
        let input = try SecretInput.all(from: Descriptor.standardInput(), limit: maxURLLength)
        guard let text = String(validating: input.span.copied(), as: UTF8.self) else {
            throw CofferError(.invalidInput, "The server URL must be UTF-8.")
        }
        // Trim by scalars: a combining mark after a space belongs to the URL, not to the space.
        let scalars = text.unicodeScalars.drop { $0.properties.isWhitespace }
        let url = scalars.reversed().drop { $0.properties.isWhitespace }.reversed()
        guard !url.isEmpty else { throw noURL }
        return String(String.UnicodeScalarView(url))
    }

    private static func text(_ token: Token?) throws(CofferError) -> String {
        guard let bytes = token?.exposing({ $0.copied() }) else { return "" }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CofferError(.invalidInput, "The server URL and the username must be UTF-8.")
        }
        return text
    }

    private static var noURL: CofferError { CofferError(.invalidInput, "no credentials server URL") }
}
