import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine

/// The `coffer key documented` command, which prints the documented key derived from a UUID and a passcode.
struct KeyDocumented: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "documented",
        abstract: "Print the documented key derived from a UUID and a passcode.",
        discussion: """
            The key is SHA-256(UUID, label, passcode hash), where the passcode hash is \
            Base64(SHA-256(passcode)). All inputs are used as given, in UTF-8. The passcode comes from \
            --passcode-fd; without it, or if its first line is empty, there is no passcode and nothing is \
            appended.

            An attacker who knows the UUID can guess a passcode of a few digits in seconds, so the scheme's \
            whole strength lies in keeping the UUID secret. Every user of the machine can see arguments. \
            --uuid-fd reads the UUID from a descriptor; --stored uses one that the vault stores and that \
            only --create creates. With --stored, --passcode-fd supplies the vault's passcode, which is \
            also used for the key unless --key-passcode-fd supplies another. The passcode must be supplied, \
            or typed on a terminal, even while the vault is unlocked, because the key is derived from it \
            and an unlocked vault does not contain the passcode.
            """)

    @OptionGroup var global: GlobalOptions

    @Option(
        help: ArgumentHelp(
            "The UUID; in the documented form, upper case with dashes. Other users can see it.",
            valueName: "uuid"))
    var uuid: String?

    @Option(help: ArgumentHelp("Read the UUID from the first line of this descriptor.", valueName: "n"))
    var uuidFd: Int32?

    @OptionGroup var kept: KeptSecret

    @Option(
        help: ArgumentHelp(
            "With --stored: read the key's passcode from this descriptor; an empty line means none.",
            valueName: "n"))
    var keyPasscodeFd: Int32?

    @Option(help: ArgumentHelp("The label; in the documented form, empty.", valueName: "label"))
    var label = ""

    func run() async throws {
        guard ProgramArguments.isText(uuid ?? ""), ProgramArguments.isText(label) else {
            throw CofferError(.invalidInput, "The UUID and the label must be UTF-8.")
        }
        try kept.check()
        guard [uuid != nil, uuidFd != nil, kept.stored != nil].count(where: { $0 }) == 1 else {
            throw CofferError(.invalidInput, "Specify the UUID with one of --uuid-fd, --stored and --uuid.")
        }
        guard kept.stored != nil || keyPasscodeFd == nil else {
            throw CofferError(.invalidInput, "--key-passcode-fd requires --stored.")
        }
        if let name = kept.stored { return try await showStored(name) }
        var passcode: Token?
        if let number = global.passcodeFd {
            passcode = try Token(SecretBytes(PasscodeInput.line(of: number)))
        }
        if let uuidFd {
            let line = SecretBytes(try PasscodeInput.line(of: uuidFd))
            try show(line, passcode)
        } else {
            try show(SecretBytes.copying(uuid ?? ""), passcode)
        }
    }

    private func showStored(_ name: String) async throws {
        let opened = try await VaultOpener.unlockedKeepingPasscode(global, isNeeded: keyPasscodeFd == nil)
        var passcode = opened.passcode
        if let keyPasscodeFd {
            passcode = try Token(SecretBytes(PasscodeInput.line(of: keyPasscodeFd)))
        }
        let secrets = opened.vault.documentedSecrets
        if kept.create { try await secrets.createUUID(name) }
        let chosen = passcode
        let printed: Void? = try await secrets.withUUID(name) { (uuid) throws(CofferError) in
            try show(uuid, chosen)
        }
        guard printed != nil else { throw KeptSecret.none }
    }

    /// Prints the key. This scheme treats an empty passcode as no passcode.
    private func show(
        _ uuid: borrowing SecretBytes, _ passcode: Token?
    ) throws(CofferError) {
        guard let passcode, passcode.count > 0 else {
            let key = try Insecure.DocumentedKey.exposingKey(uuid: uuid, label: label, passcode: nil)
            let hex = try key.exposing { (span) throws(CofferError) in try Encoding.hex(span) }
            let none = [UInt8]()
            return try Output.secrets("passcodeHash", none.span, "key", hex.span, asJSON: global.json)
        }
        let secret = try passcode.copied()
        let hash = try Insecure.DocumentedKey.passcodeHash(of: secret)
        let key = try Insecure.DocumentedKey.exposingKey(uuid: uuid, label: label, passcode: secret)
        let hex = try key.exposing { (span) throws(CofferError) in try Encoding.hex(span) }
        try hash.exposing { (hash) throws(CofferError) in
            try Output.secrets("passcodeHash", hash, "key", hex.span, asJSON: global.json)
        }
    }
}

/// The options that select a stored secret for a documented scheme.
struct KeptSecret: ParsableArguments {
    @Option(help: ArgumentHelp("Use the secret that the vault stores under this name.", valueName: "name"))
    var stored: String?

    @Flag(help: "With --stored: create the secret first; fails if the name is already in use.")
    var create = false

    func check() throws(CofferError) {
        guard ProgramArguments.isText(stored ?? "") else {
            throw CofferError(.invalidInput, "The name of a stored secret must be valid UTF-8.")
        }
        guard stored != nil || !create else {
            throw CofferError(.invalidInput, "--create requires --stored.")
        }
    }

    static var none: CofferError {
        CofferError(
            .absent, "The vault has no secret with this name. To create the secret, specify --create.")
    }
}
