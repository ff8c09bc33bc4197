import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine

/// The `coffer remote-wipe keygen` command, which creates a private key and prints its public key.
struct RemoteWipeKeygen: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keygen",
        abstract: "Write a new private key to a file that only this user can read; print the public key.")

    @OptionGroup var global: NoVaultOptions

    @Argument(help: "The file to create; it must not exist.", completion: .file())
    var file: String

    func run() throws {
        let key = try OrderFile.makePrivateKey(file)
        guard global.json else { return try Output.line(key.description) }
        try Output.json(.object([("publicKey", .text(key.description))]))
    }
}

/// The `coffer remote-wipe create` command, which signs an order.
struct RemoteWipeCreate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Sign an order and write it to standard output.",
        discussion: """
            The private key is 32 bytes in hexadecimal, in a file that only this user can read or on a \
            descriptor, never an argument. The default counter is the time of issue, or the current time if \
            that is later, in milliseconds: a vault accepts only an order with a greater counter than the \
            last one. With --json, the document contains the order in Base64.
            """)

    enum Action: String, CaseIterable, ExpressibleByArgument {
        case wipe, heartbeat
        case trustKey = "trust-key"
        case distrustKey = "distrust-key"
    }

    @OptionGroup var global: NoVaultOptions

    @OptionGroup var signing: SigningOptions

    @Option(help: "The action: wipe, heartbeat, trust-key or distrust-key.")
    var action = Action.wipe

    @Option(help: ArgumentHelp("What to wipe: all, tokens, or user:NAME.", valueName: "scope"))
    var scope: String?

    @Option(help: ArgumentHelp("The public key to trust or to stop trusting.", valueName: "hex"))
    var key: String?

    @Option(help: ArgumentHelp("The reason to record in the receipt.", valueName: "text"))
    var reason = ""

    func run() throws {
        let period = try signing.period()
        let order = RemoteCommand(
            try orderAction(), for: try signing.target(), counter: period.counter, issued: period.issued,
            expires: period.expires, reason: reason)
        let seed = try signing.privateKey()
        let bytes = try order.signed(by: seed)
        try Output.content("order", bytes.span, asJSON: global.json)
    }

    private func orderAction() throws(CofferError) -> RemoteCommand.Action {
        guard action == .wipe || scope == nil, [.trustKey, .distrustKey].contains(action) == (key != nil)
        else {
            throw CofferError(
                .invalidInput,
                "Use --scope only with the action wipe. The actions trust-key and distrust-key require "
                    + "--key; other actions do not accept --key."
            )
        }
        let subject = try key.map { text throws(CofferError) in try AdministratorKey(hex: text) }
        switch (action, subject) {
        case (.trustKey, let key?): return .pin(key)
        case (.distrustKey, let key?): return .unpin(key)
        case (.heartbeat, _): return .heartbeat
        default: return .wipe(try wipeScope())
        }
    }

    private func wipeScope() throws(CofferError) -> WipeScope {
        switch scope {
        case nil, "all": return .all
        case "tokens": return .tokens
        case let text? where text.utf8.hasPrefix("user:") && ProgramArguments.isText(text):
            return .user(String(Substring(text.utf8.dropFirst(5))))
        default: throw CofferError(.invalidInput, "--scope takes all, tokens, or user: and a name.")
        }
    }
}
