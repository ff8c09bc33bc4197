import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine
import FoundationEssentials

/// The `coffer token put` command, which stores the token from standard input.
struct TokenPut: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Store the token from standard input, byte for byte; print its version.",
        discussion: """
            The token must be 1 byte to 1 MiB long. On a terminal, the command asks for it without echo, \
            and the newline is not part of it. From a pipe or a file, every byte counts: use printf rather \
            than echo. With --passcode-fd 0 the first line is the passcode, and the rest is the token.

            A new value keeps the class, label, scopes and other attributes of the token that it replaces, \
            unless options say otherwise; --label '' and --scope '' remove them. The new value does not \
            keep the expiry, which belonged to the old value, nor does it stay volatile: repeat --expires \
            and --volatile. A message says if it keeps a class that can be read while the vault is locked, \
            or exported. Nothing is kept of a token that arrived while the vault was locked and is still \
            marked as such, because any program of this user can have stored it.

            If the vault is locked and there is no way to ask for the passcode, the command seals the token \
            and queues it; its version is 0. The next unlock stores the token if none with its name exists. \
            Otherwise the token waits for coffer token accept with the fingerprint that this command \
            prints. For a queued token, --if-version is refused, and only the class of a stored token can \
            be kept, if it protects at least as much as the default.

            Service names that begin with "coffer.", "oauth-profile:" or "oauth-client:" are reserved for \
            this program and refused.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var name: TokenName

    @Option(
        name: .customLong("class"),
        help: """
            When the token can be read, and whether it may be exported. Without this option, the class is \
            that of the token that is replaced, or whenUnlockedThisDeviceOnly if there is none.
            """)
    var protection: ProtectionClassArgument?

    @OptionGroup var expiry: ExpiryOptions

    @Option(help: ArgumentHelp("A text by which token list can also find the token.", valueName: "text"))
    var label: String?

    @Option(help: ArgumentHelp("An OAuth scope; may be repeated.", valueName: "scope"))
    var scope: [String] = []

    @Option(help: ArgumentHelp("Replace only this version; 0: store only if there is none.", valueName: "n"))
    var ifVersion: UInt64?

    @Flag(
        name: .customLong("volatile"),
        help: """
            Keep the token only in the kernel keyring, until the next lock or the inactivity time. A stored \
            token with the same name is replaced for good: after the lock, neither is left.
            """)
    var isEphemeral = false

    func run() async throws {
        let id = try name.id()
        try ReservedServices.checkIsWritable(id)
        let expires = try expiry.time()?.date(from: Date())
        // Before the passcode is evaluated: without a token, a first line that is not the passcode costs no
        // attempt.
        let passcode = try VaultOpener.passcode(global)
        let early = try passcode == nil ? nil : TokenInput.read()
        let vault = try await VaultOpener.unlockedForStoring(global, with: passcode)
        let token = try early ?? TokenInput.read()
        let precondition = ifVersion.map { $0 == 0 ? .absent : .version($0) } ?? Precondition.any
        // `nil` also if it cannot be read, in which case `put` fails or queues the token.
        let old = try? await vault.tokens.info(for: id)
        let result = try await vault.tokens.put(
            token, for: id, class: protection?.protection, expires: expires, scopes: scopes,
            attributes: try attributes(over: old), isEphemeral: isEphemeral, precondition: precondition)
        if let expires, expires <= Date() {
            Output.message("coffer: The token has already expired: its expiry is \(expires.iso8601).")
        }
        if protection == nil { await KeptClass.report(of: id, in: vault.tokens) }
        if case .stored = result {
            if expires == nil, let date = old?.expires {
                Output.message(
                    "coffer: The replaced token had the expiry \(date.iso8601), but the new token has "
                        + "none. To set an expiry, specify --expires.")
            }
            return try show(result)
        }
        let fingerprint = try await vault.tokens.ownPendingFingerprint(for: id)
        let choice = fingerprint.map { " --fingerprint \($0)" } ?? ""
        Output.message(
            "coffer: The vault is locked, so the token is sealed and waiting for the next unlock. If a "
                + "token with this name is already stored, the new one then waits for coffer token "
                + "accept\(choice).")
        try show(result, [("fingerprint", fingerprint.map { .text($0) } ?? .none)])
    }

    /// The new scopes; `nil` to keep those of the stored token.
    private var scopes: [String]? { scope.isEmpty ? nil : scope.filter { !$0.isEmpty } }

    /// Returns the attributes of the stored token, unless anyone can have stored it, with the new label;
    /// `nil` to keep them as they are.
    private func attributes(over old: TokenInfo?) throws(CofferError) -> [String: String]? {
        guard let label else { return nil }
        guard ProgramArguments.isText(label) else {
            throw CofferError(.invalidInput, "The label must be UTF-8.")
        }
        var attributes = old?.isStoredWhileLocked == false ? old?.attributes ?? [:] : [:]
        attributes[TokenFilter.label] = label.isEmpty ? nil : label
        return attributes
    }

    private func show(_ result: PutResult, _ more: [(String, JSONDocument)] = []) throws(CofferError) {
        let version = Int(result.version ?? 0)
        guard global.json else { return try Output.line(String(version)) }
        try Output.json(
            .object([("version", .number(version)), ("waiting", .flag(result == .queued))] + more))
    }
}

/// The arguments that specify a token.
struct TokenName: ParsableArguments {
    @Argument(help: "The service, such as a host name.", completion: NameCompletion.service)
    var service: String

    @Argument(help: "The account at the service.", completion: NameCompletion.account)
    var account: String

    @Option(help: "What the token is for: access, refresh, id or other.")
    var kind = TokenKindArgument.access

    init() {}

    /// Creates the name of an access token without the parser.
    init(service: String, account: String) {
        self.service = service
        self.account = account
        kind = .access
    }

    func id() throws(CofferError) -> TokenID {
        guard ProgramArguments.isText(service), ProgramArguments.isText(account) else {
            throw CofferError(.invalidInput, "The service and the account must be UTF-8.")
        }
        return try TokenID(service: service, account: account, kind: kind.kind)
    }
}
