import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The `coffer settings` command, which shows or changes the vault's settings.
struct SettingsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "Show the vault's settings, or change the ones that options specify.",
        discussion: """
            Shows the settings without a passcode, and after a change. Loosening a setting requires the \
            passcode, from --passcode-fd or the terminal; tightening one does not. These changes loosen a \
            setting: a shorter minimum length, policy none instead of digits or digits instead of \
            alphanumeric, common or denied passcodes allowed again, no delays, --erase-after never, \
            --require-disk-encryption off, --keyring-prompts on, --movable on, --recovery-keys on, and a \
            longer inactivity time, with reboot the longest.

            A change erases nothing. If ten or more wrong passcodes have been counted, --erase-after 10 \
            also requires the passcode, which resets the count. --recovery-keys off removes the recovery \
            key. Earlier releases of coffer refuse to open a vault with --erase-after never, \
            --require-disk-encryption on, --movable on, --recovery-keys off or a recovery key.

            With --movable on, a new token, file or database gets the class whenUnlocked, which a backup can \
            restore on another machine, unless a command specifies another class. Existing items keep their \
            class: see coffer reclass.

            With --require-disk-encryption on, files can be added, and edited with file view --writable, \
            only while the disk that holds the vault is known to be encrypted; coffer doctor shows whether \
            it is. This also applies to the namespaces of --user in the vault, whatever their own settings. \
            Stored files stay readable.

            The passcode rules apply when a passcode is set or changed, not to the current one. A shorter \
            inactivity time locks the vault immediately. With --keyring-prompts on, the desktop keyring may \
            ask for its password whenever a command needs the keyring and it is locked, as with \
            --allow-prompt on every command; completion never makes it ask.
            """)

    @OptionGroup var global: GlobalOptions

    @Option(
        help: ArgumentHelp(
            InitCommand.Policy.rules + " With this command, --minimum-length applies even if it is lower."))
    var policy: InitCommand.Policy?

    @Option(
        help: ArgumentHelp(
            "The minimum passcode length, 1 to 128, in user-perceived characters.",
            valueName: "characters"))
    var minimumLength: Int?

    @Option(help: "Refuse passcodes that attackers guess first, such as 1234 or password1.")
    var denyCommon: InitCommand.Switch?

    @Option(
        help: ArgumentHelp(
            "Refuse the passcodes in this file and no others: one per line, at most 256.",
            valueName: "path"),
        completion: .file())
    var denyFile: String?

    @Option(help: "Increase the delay after each wrong passcode, from the fifth on.")
    var attemptDelays: InitCommand.Switch?

    @Option(help: "The number of wrong passcodes in a row that erases the vault.")
    var eraseAfter: InitCommand.EraseAfter?

    @Option(help: "Add files only while the disk that holds the vault is known to be encrypted.")
    var requireDiskEncryption: InitCommand.Switch?

    @Option(help: "Let a backup restore new items on another machine.")
    var movable: InitCommand.Switch?

    @Option(help: "Allow a recovery key; off also removes an existing one.")
    var recoveryKeys: InitCommand.Switch?

    @Option(
        help: ArgumentHelp(
            "Lock after this time without use: 10 (minutes), 10m or 1h; with 'reboot', only on reboot.",
            valueName: "time|reboot"))
    var inactivity: String?

    @Option(help: "Let the desktop keyring ask for its password if it is locked, with every command.")
    var keyringPrompts: InitCommand.Switch?

    /// The requested changes. A property is `nil` if its setting stays the same.
    private struct Change: Sendable {
        var characters: PasscodePolicy.Characters?
        var minimumLength: Int?
        var rejectsCommon: Bool?
        var denied: [String]?
        var delaysAttempts: Bool?
        var erasesAfterTenFailures: Bool?
        var requiresDiskEncryption: Bool?
        var newItemsAreMovable: Bool?
        var allowsRecoveryKey: Bool?
        /// The requested inactivity time. The outer `nil` means no change, and the inner `nil` means that the
        /// vault locks only on reboot.
        var inactivity: Duration??

        func apply(to settings: inout VaultSettings) throws(CofferError) {
            settings.policy = try settings.policy.replacing(
                characters: characters, minimumLength: minimumLength, rejectsCommon: rejectsCommon,
                denying: denied)
            if let delaysAttempts { settings.delaysAttempts = delaysAttempts }
            if let erasesAfterTenFailures { settings.erasesAfterTenFailures = erasesAfterTenFailures }
            if let requiresDiskEncryption { settings.requiresDiskEncryption = requiresDiskEncryption }
            if let newItemsAreMovable { settings.newItemsAreMovable = newItemsAreMovable }
            if let allowsRecoveryKey { settings.allowsRecoveryKey = allowsRecoveryKey }
            if let inactivity { settings.inactivity = inactivity }
        }
    }

    func run() async throws {
        let change = try wantedChange()
        let prompts = keyringPrompts.map { $0 == .on }
        let vault = try await VaultOpener.vault(global)
        guard change != nil || prompts != nil else { return try await show(vault) }
        let given = try VaultOpener.passcode(global)
        do throws(CofferError) {
            try await Self.apply(change, prompts, to: vault, given)
            return try await show(vault)
        } catch {
            guard error.code == .locked, given == nil else { throw error }
            guard let typed = try await VaultOpener.currentPasscode(global, of: vault) else {
                throw CofferError(.locked, "\(error.message) \(Self.noTerminal)")
            }
            try await Self.apply(change, prompts, to: vault, typed)
            try await show(vault)
        }
    }

    private static let noTerminal =
        "The passcode is required even while the vault is unlocked, and there is no terminal on which to "
        + "ask for it. Specify the passcode with --passcode-fd."

    /// Applies the changes. What requires the passcode comes first, so that nothing is changed without it.
    private static func apply(
        _ change: Change?, _ prompts: Bool?, to vault: Vault, _ passcode: Passcode?
    ) async throws(CofferError) {
        try await VaultOpener.waitingForDelay { () async throws(CofferError) in
            if prompts == true { try await vault.setKeyringPrompts(true, passcode: passcode) }
            if let change {
                try await vault.changeSettings(passcode: passcode) { (settings) throws(CofferError) in
                    try change.apply(to: &settings)
                }
            }
            if prompts == false { try await vault.setKeyringPrompts(false) }
        }
    }

    /// Returns the changes that the options specify, or `nil` if there are none.
    private func wantedChange() throws(CofferError) -> Change? {
        let isPolicyGiven = policy != nil || minimumLength != nil || denyCommon != nil || denyFile != nil
        guard
            isPolicyGiven || attemptDelays != nil || eraseAfter != nil || requireDiskEncryption != nil
                || movable != nil || recoveryKeys != nil || inactivity != nil
        else { return nil }
        var change = Change()
        switch policy {
        case .some(.none): change.characters = .any
        case .some(.digits): change.characters = .digits
        case .some(.alphanumeric): change.characters = .lettersAndDigits
        case nil: break
        }
        change.minimumLength = minimumLength
        change.rejectsCommon = denyCommon.map { $0 == .on }
        if let denyFile { change.denied = try InitCommand.deniedPasscodes(in: denyFile) }
        change.delaysAttempts = attemptDelays.map { $0 == .on }
        change.erasesAfterTenFailures = eraseAfter.map { $0 == .ten }
        change.requiresDiskEncryption = requireDiskEncryption.map { $0 == .on }
        change.newItemsAreMovable = movable.map { $0 == .on }
        change.allowsRecoveryKey = recoveryKeys.map { $0 == .on }
        if let inactivity { change.inactivity = .some(try InitCommand.inactivity(inactivity)) }
        return change
    }

    private func show(_ vault: Vault) async throws(CofferError) {
        let settings = try await vault.settings()
        let allowsPrompts = try await vault.allowsKeyringPrompts()
        let minutes = settings.inactivity.map { (Int($0.components.seconds) + 59) / 60 }
        let erases = InitCommand.EraseAfter.document(erases: settings.erasesAfterTenFailures)
        // The last part of each is the text instead of a null.
        let fields: [(name: String, value: JSONDocument, absence: String)] = [
            ("policy", .text(settings.policy.characters.word), ""),
            ("minimumLength", .number(settings.policy.minimumLength), ""),
            ("denyCommon", .flag(settings.policy.rejectsCommon), ""),
            ("deniedPasscodes", .number(settings.policy.denylistCount), ""),
            ("attemptDelays", .flag(settings.delaysAttempts), ""),
            ("eraseAfter", erases, InitCommand.EraseAfter.never.rawValue),
            ("requireDiskEncryption", .flag(settings.requiresDiskEncryption), ""),
            ("movable", .flag(settings.newItemsAreMovable), ""),
            ("recoveryKeys", .flag(settings.allowsRecoveryKey), ""),
            ("inactivityMinutes", minutes.map { .number($0) } ?? .none, "until a reboot"),
            ("keyringPrompts", .flag(allowsPrompts), ""),
        ]
        guard !global.json else { return try Output.json(.object(fields.map { ($0.name, $0.value) })) }
        for (name, value, absence) in fields {
            switch value {
            case .value(.string(let text)): try Output.line("\(name): \(text)")
            case .value(.null): try Output.line("\(name): \(absence)")
            default: try Output.line("\(name): \(value.encoded())")
            }
        }
    }
}

extension PasscodePolicy.Characters {
    /// The word that specifies these characters in `--policy`.
    fileprivate var word: String {
        switch self {
        case .any: InitCommand.Policy.none.rawValue
        case .digits: InitCommand.Policy.digits.rawValue
        case .lettersAndDigits: InitCommand.Policy.alphanumeric.rawValue
        }
    }
}
