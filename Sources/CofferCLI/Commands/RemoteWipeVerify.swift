import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer remote-wipe verify` command, which checks an order and prints its contents.
struct RemoteWipeVerify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check an order and print its contents. Changes nothing.",
        discussion: """
            With --key, checks the order's form, signature and time with these public keys instead of a \
            vault's, but not its target. Without --key, checks whether the vault would accept the order now.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The order; - for standard input.", completion: .file())
    var file: String

    @Option(
        help: ArgumentHelp("A public key that may have signed the order; may be repeated.", valueName: "hex"))
    var key: [String] = []

    @Option(
        help: ArgumentHelp("Also check that this receipt belongs to the order.", valueName: "file"),
        completion: .file())
    var receipt: String?

    func run() async throws {
        var keys: [AdministratorKey] = []
        for text in key { keys.append(try AdministratorKey(hex: text)) }
        let order = try OrderFile.read(file)
        if keys.isEmpty {
            guard receipt == nil else {
                throw CofferError(
                    .invalidInput, "--receipt requires --key, because the receipt's vault no longer exists.")
            }
            _ = try await VaultOpener.vault(global).verify(order)
        } else if receipt != nil {
            // The wipe is done, so it is not an error if the command has expired since.
            try order.check(signedBy: keys, at: order.content.issued)
        } else {
            try order.check(signedBy: keys)
        }
        if let receipt {
            guard try order.isNamed(inReceipt: OrderFile.receipt(receipt)) else {
                throw CofferError(.notAuthentic, "The receipt does not belong to this order.")
            }
        }
        guard global.json else {
            for line in order.lines { try Output.line(line) }
            return
        }
        try Output.json(.object([("valid", .flag(true))] + order.members))
    }
}

/// The `coffer remote-wipe apply` command, which applies an order that does not erase.
struct RemoteWipeApply: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Apply an order that does not erase: a heartbeat, or a key to trust or to distrust.")

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The order; - for standard input.", completion: .file())
    var file: String

    func run() async throws {
        let order = try OrderFile.read(file)
        if case .wipe = order.content.action {
            throw CofferError(
                .invalidInput,
                "The order was not applied, because it erases data. Execute the order with coffer wipe "
                    + "--order.")
        }
        let vault = try await VaultOpener.vault(global)
        try await vault.execute(vault.verify(order))
        guard global.json else { return try Output.line("\(order.content.action.word): done") }
        try Output.json(.object(order.members))
    }
}
