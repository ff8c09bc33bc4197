import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import FoundationEssentials

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

    @Option(
        help: ArgumentHelp("Read the private key from this file.", valueName: "file"), completion: .file())
    var keyFile: String?

    @Option(
        help: ArgumentHelp("Read the private key from the first line of this descriptor.", valueName: "n"))
    var keyFd: Int32?

    @Option(help: "The action: wipe, heartbeat, trust-key or distrust-key.")
    var action = Action.wipe

    @Option(help: ArgumentHelp("The vault that the order is for.", valueName: "uuid"))
    var vault: String?

    @Option(help: ArgumentHelp("The device that the order is for, with every vault on it.", valueName: "hex"))
    var device: String?

    @Option(help: ArgumentHelp("What to wipe: all, tokens, or user:NAME.", valueName: "scope"))
    var scope: String?

    @Option(help: ArgumentHelp("The public key to trust or to stop trusting.", valueName: "hex"))
    var key: String?

    @Option(help: ArgumentHelp("The order's counter, 1 to 18446744073709551614.", valueName: "n"))
    var counter: UInt64?

    @Option(help: ArgumentHelp("When the order becomes valid; default now.", valueName: "ISO8601"))
    var issued: String?

    @Option(help: ArgumentHelp("How long the order stays valid after that.", valueName: "seconds"))
    var validFor = 604_800

    @Option(help: ArgumentHelp("The reason to record in the receipt.", valueName: "text"))
    var reason = ""

    func run() throws {
        let start = try issued.map { text throws(CofferError) in try ISODate.parse(text, of: "--issued") }
        let issued = start ?? Date()
        guard (1...3_153_600_000).contains(validFor) else {
            throw CofferError(.invalidInput, "--valid-for takes 1 to 3153600000 seconds, a century.")
        }
        let order = RemoteCommand(
            try orderAction(), for: try target(),
            counter: counter ?? Self.counter(issued, now: Date()), issued: issued,
            expires: issued + TimeInterval(validFor), reason: reason)
        let seed = try privateKey()
        let bytes = try order.signed(by: seed)
        try Output.content("order", bytes.span, asJSON: global.json)
    }

    /// Returns a command's counter: either the time of issue or the current time in milliseconds, whichever
    /// is later. If the vault accepts another command in the meantime, it therefore does not refuse a command
    /// issued for a later date as a replay. The milliseconds within the second are always those of the
    /// current time, so two commands for the same second have different counters.
    private static func counter(_ issued: Date, now: Date) -> UInt64 {
        let now = UInt64(max(1, now.timeIntervalSince1970 * 1000))
        let second = UInt64(max(0, issued.timeIntervalSince1970))
        return max(now, second * 1000 + now % 1000)
    }

    private func privateKey() throws(CofferError) -> SymmetricKey {
        switch (keyFile, keyFd) {
        case (let path?, nil): return try OrderFile.privateKey(path)
        case (nil, let number?): return try OrderFile.privateKey(onDescriptor: number)
        default: throw CofferError(.invalidInput, "Specify either --key-file or --key-fd.")
        }
    }

    private func target() throws(CofferError) -> RemoteCommand.Target {
        switch (vault, device) {
        case (let text?, nil):
            guard let id = UUID(uuidString: text) else {
                throw CofferError(
                    .invalidInput, "--vault takes a vault id in the form that `coffer status` prints.")
            }
            return .vault(id)
        case (nil, let text?): return .device(try DeviceID(hex: text))
        default: throw CofferError(.invalidInput, "Specify either --vault or --device.")
        }
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
