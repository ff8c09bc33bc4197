import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferDatabase

/// The `coffer reclass` command, which gives stored items another protection class.
struct ReclassCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reclass",
        abstract: "Give tokens, files, databases and key pairs another protection class.",
        discussion: """
            Values, contents, names, dates and versions stay the same. An item is a token as \
            SERVICE/ACCOUNT or SERVICE/ACCOUNT#KIND, where %2F, %23 and %25 stand for /, # and %, or a file \
            by its name, its id or the beginning of its id; ./NAME always means a file.

            Items in a ThisDeviceOnly class never leave this device, so no backup can restore them on \
            another one; those in whenUnlocked and afterFirstUnlock can be restored anywhere. A class that \
            protects an item less requires the passcode, from --passcode-fd or the terminal, even while the \
            vault is unlocked.

            The command lists the items that keep their class, with the reason: sessionOnly items end with \
            the next lock, passcodeDependent ones with the passcode; contextBound files need their \
            --context; the library or an OAuth profile determines the class of reserved tokens. If the \
            command is interrupted, run it again.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "Tokens as SERVICE/ACCOUNT, or files.", completion: FileArgument.completion)
    var items: [String] = []

    @Flag(help: "All tokens, files, databases and key pairs.")
    var all = false

    @Flag(help: "All tokens.")
    var tokens = false

    @Flag(help: "All files.")
    var files = false

    @Flag(help: "All databases and soup stores.")
    var databases = false

    @Flag(help: "All key pairs.")
    var keyPairs = false

    @Option(name: .customLong("class"), help: "The new class.")
    var protection: ProtectionClassArgument

    @Option(help: "The --context that was specified when the files were added.")
    var context: String?

    func validate() throws {
        guard items.isEmpty == (all || tokens || files || databases || keyPairs) else {
            throw ValidationError("Specify items, or --all, --tokens, --files, --databases or --key-pairs.")
        }
    }

    func run() async throws {
        let items = try items.map { (item) throws(CofferError) in try ReclassItem(item) }
        let given = try VaultOpener.passcode(global)
        let vault = try await VaultOpener.unlocked(global, with: given)
        let names = try await Selection(items, in: vault)
        let report: ReclassReport
        do throws(CofferError) {
            report = try await change(names, in: vault, given)
        } catch {
            guard error.code == .locked, given == nil, vault.isUnlocked,
                let typed = try await VaultOpener.currentPasscode(global, of: vault)
            else { throw error }
            report = try await change(names, in: vault, typed)
        }
        try report.show(asJSON: global.json, protection.protection)
    }

    /// The items that were named one by one.
    private struct Selection {
        var tokens: [TokenID] = []
        var files: [FileID] = []

        init(_ items: [ReclassItem], in vault: Vault) async throws {
            for item in items {
                switch item {
                case .token(let id): tokens.append(id)
                case .file(let reference): files.append(try await reference.id(in: vault))
                }
            }
        }
    }

    private func change(
        _ named: Selection, in vault: Vault, _ passcode: Passcode?
    ) async throws(CofferError) -> ReclassReport {
        var report = ReclassReport()
        let new = protection.protection
        try await VaultOpener.waitingForDelay { () async throws(CofferError) in
            report = ReclassReport()
            if all || tokens || !named.tokens.isEmpty {
                let ids = all || tokens ? nil : named.tokens
                report.add(
                    try await vault.tokens.reclassify(ids, to: new, passcode: passcode), "token"
                ) { $0.reference }
            }
            if all || databases {
                report.add(try await vault.reclassifyDatabases(to: new, passcode: passcode), "database") {
                    $0
                }
            }
            let pairs = all || keyPairs ? try await vault.keyPairs.list() : []
            if keyPairs || !pairs.isEmpty {
                report.add(try await vault.keyPairs.reclassify(to: new, passcode: passcode), "key pair") {
                    $0
                }
            }
            if all || files || !named.files.isEmpty {
                let ids = all || files ? nil : named.files
                report.add(
                    try await vault.files.reclassify(
                        ids, to: new, context: FileArgument.bytes(ofContext: context), passcode: passcode),
                    "file"
                ) { $0.description }
            }
        }
        return report
    }
}

extension TokenID {
    /// The name as `SERVICE/ACCOUNT#KIND`.
    fileprivate var reference: String { "\(service)/\(account)#\(kind)" }
}
