import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

/// The `coffer anchor` command, which groups the subcommands for anchors.
struct AnchorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "anchor",
        abstract: "Keep the vault's number elsewhere, to notice an older copy put back.",
        discussion: """
            Every change of the passcode, the settings, the files and the tokens raises a number in the \
            vault; tokens at most once a second. An anchor is another place that knows the number: a file, \
            the kernel keyring until the next reboot, or a receipt. If an anchor knows of a later change \
            than the vault directory does, somebody has put back an older copy, and the vault does not open \
            (rolledBack). If an anchor cannot be read, it does not open either (anchorLost): mount the disk, \
            or use coffer anchor reset or remove. Locking and wiping need no anchor.

            Whoever can put back the older copies of both the vault directory and the anchor is not noticed. \
            An older copy from before the first anchor was set is noticed by the kernel keyring alone.
            """,
        subcommands: [
            AnchorSet.self, AnchorList.self, AnchorPrint.self, AnchorCheck.self, AnchorReset.self,
            AnchorRemove.self,
        ])

    /// Opens the vault and asks for its passcode.
    fileprivate static func opened(
        _ global: GlobalOptions
    ) async throws(CofferError) -> (vault: Vault, passcode: Passcode?) {
        let vault = try await VaultOpener.vault(global)
        guard try await vault.status().hasPasscode else { return (vault, nil) }
        guard let passcode = try await VaultOpener.currentPasscode(global, of: vault) else {
            throw CofferError(
                .locked,
                "The passcode is required even while the vault is unlocked, and there is no terminal on "
                    + "which to ask for it. Specify the passcode with --passcode-fd.")
        }
        return (vault, passcode)
    }

    fileprivate static func show(_ anchors: [AnchorStatus], asJSON: Bool) throws(CofferError) {
        guard !asJSON else {
            return try Output.json(.object([("anchors", .list(anchors.map(document)))]))
        }
        for anchor in anchors {
            let place = anchor.path.map { ": \($0.printable)" } ?? ""
            let problem = anchor.problem.map { "  \($0.code.name)" } ?? ""
            try Output.line(name(anchor.kind) + place + problem)
            if let problem = anchor.problem { Output.message("coffer: \(problem.advice)") }
        }
    }

    private static func document(_ anchor: AnchorStatus) -> JSONDocument {
        .object([
            ("kind", .text(anchor.kind.rawValue)), ("path", anchor.path.map { .text($0) } ?? .none),
            ("problem", anchor.problem.map { .text($0.code.name) } ?? .none),
        ])
    }

    private static func name(_ kind: AnchorStatus.Kind) -> String {
        switch kind {
        case .file: "file"
        case .secretService: "Secret Service (attempt counter only)"
        case .kernelKeyring: "kernel keyring (until the next reboot)"
        case .receipt: "receipt (when it is checked)"
        }
    }
}

/// The `coffer anchor set` command, which sets an anchor.
struct AnchorSet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Keep the vault's number in a file or in the kernel keyring.",
        discussion: """
            Put the file on another disk, or in a directory that only root can restore. It is not secret. A \
            vault has at most one anchor of each kind; another file takes the place of an earlier one. A \
            file that is an anchor of this vault already, and knows of a later change, is not overwritten \
            (rolledBack).
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The path of a new file.", completion: .file())
    var path: String?

    @Flag(help: "Use the kernel keyring of this user, until the next reboot.")
    var kernelKeyring = false

    func validate() throws {
        guard (path != nil) != kernelKeyring else {
            throw ValidationError("Specify either a path or --kernel-keyring.")
        }
    }

    func run() async throws {
        let file = try path.map { (text) throws(CofferError) in
            let path = try FilePathArgument.path(text)
            return (Environment.workingDirectory?.pushing(path) ?? path).string
        }
        let (vault, passcode) = try await AnchorCommand.opened(global)
        try await vault.setAnchor(at: file, passcode: passcode)
        guard global.json else { return }
        try await AnchorCommand.show(vault.anchors(), asJSON: true)
    }
}

/// The `coffer anchor list` command, which lists the anchors.
struct AnchorList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the vault's anchors, the strongest one first.", aliases: ["ls"])

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let vault = try await VaultOpener.vault(global)
        try await AnchorCommand.show(vault.anchors(), asJSON: global.json)
    }
}

/// The `coffer anchor print` command, which prints a receipt.
struct AnchorPrint: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "print", abstract: "Print a receipt of the vault's number, to be kept elsewhere.",
        discussion: """
            Works while the vault is locked. The receipt is not secret. coffer anchor check RECEIPT later \
            says whether the vault directory is older than the receipt.
            """)

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let vault = try await VaultOpener.vault(global)
        let receipt = try await vault.anchorReceipt()
        guard !global.json else {
            return try Output.json(
                .object([("receipt", .text(receipt.text)), ("number", .text(String(receipt.number)))]))
        }
        try Output.line(receipt.text)
    }
}

/// The `coffer anchor check` command, which checks a receipt and asks the anchors.
struct AnchorCheck: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check that the vault is not older than its anchors and a receipt.",
        discussion: "Works while the vault is locked.")

    @OptionGroup var global: GlobalOptions

    @Argument(help: "A receipt that coffer anchor print printed.")
    var receipt: String?

    func run() async throws {
        let receipt = try receipt.map { (text) throws(CofferError) in try AnchorReceipt(text) }
        let vault = try await VaultOpener.vault(global)
        let anchors = try await vault.anchors()
        guard receipt != nil || !anchors.isEmpty else {
            throw CofferError(.absent, "This vault has no anchor.", remedy: .setAnchor)
        }
        let number = try await vault.checkAnchors(receipt)
        guard !global.json else { return try Output.json(.object([("number", .text(String(number)))])) }
        try Output.line("The vault is at change \(number), and no anchor or receipt knows of a later one.")
    }
}

/// The `coffer anchor reset` command, which accepts the vault directory as it is.
struct AnchorReset: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset", abstract: "Accept the vault directory as it is, and set every anchor to it.",
        discussion: """
            For an owner who restored a backup, or whose anchor was lost. Requires the passcode. Do not use \
            it if you do not know why the vault is an older copy: what was changed since is not in it.
            """)

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let (vault, passcode) = try await AnchorCommand.opened(global)
        try await vault.resetAnchors(passcode: passcode)
        guard global.json else { return }
        try await AnchorCommand.show(vault.anchors(), asJSON: true)
    }
}

/// The `coffer anchor remove` command, which removes an anchor.
struct AnchorRemove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove an anchor, also one that is lost.",
        discussion: "Requires the passcode.", aliases: ["rm"])

    enum Kind: String, CaseIterable, ExpressibleByArgument {
        case file, kernelKeyring = "kernel-keyring", receipt

        fileprivate var kind: AnchorStatus.Kind {
            switch self {
            case .file: .file
            case .kernelKeyring: .kernelKeyring
            case .receipt: .receipt
            }
        }
    }

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The anchor's kind.")
    var kind: Kind

    func run() async throws {
        let (vault, passcode) = try await AnchorCommand.opened(global)
        guard try await vault.removeAnchor(kind.kind, passcode: passcode) else {
            throw CofferError(.absent, "This vault has no such anchor.")
        }
        guard global.json else { return }
        try await AnchorCommand.show(vault.anchors(), asJSON: true)
    }
}
