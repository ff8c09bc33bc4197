import ArgumentParser
import Coffer
import CofferBase

/// `coffer settings`
struct SettingsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "Show the vault's settings, or change the ones that options specify.",
        discussion: """
            Showing the settings requires no passcode; after a change, the command shows them too. Loosening \
            a setting requires the passcode, from --passcode-fd or the terminal; tightening one does not. \
            These changes loosen a setting: a shorter minimum length, policy none instead of digits or \
            digits instead of alphanumeric, allowing common or denied passcodes again, turning off delays, \
            and a longer inactivity time, of which reboot is the longest.

            The passcode rules apply when a passcode is set or changed, not to the current one. A shorter \
            inactivity time locks the vault immediately. Whether the desktop keyring may ask for its \
            password is not a vault setting: see --allow-prompt.
            """)

    @OptionGroup var global: GlobalOptions

    @Option(
        help: """
            The characters that passcodes must have; digits also requires at least 4 characters, and \
            alphanumeric at least 5, unless --minimum-length is given.
            """)
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

    @Option(
        help: ArgumentHelp(
            "Lock after this time without use; with 'reboot', only at a reboot.",
            valueName: "minutes|reboot"))
    var inactivity: String?

    /// The requested changes; `nil` for each setting that stays the same.
    private struct Change: Sendable {
        var characters: PasscodePolicy.Characters?
        var minimumLength: Int?
        var rejectsCommon: Bool?
        var denied: [String]?
        var delaysAttempts: Bool?
        /// The outer `nil` means no change; the inner `nil` means that the vault locks only at a reboot.
        var inactivity: Duration??

        func apply(to settings: inout VaultSettings) throws(CofferError) {
            settings.policy = try settings.policy.replacing(
                characters: characters, minimumLength: minimumLength, rejectsCommon: rejectsCommon,
                denying: denied)
            if let delaysAttempts { settings.delaysAttempts = delaysAttempts }
            if let inactivity { settings.inactivity = inactivity }
        }
    }

    func run() async throws {
        let wanted = try wantedChange()
        let vault = try await VaultOpener.vault(global)
        guard let change = wanted else { return try show(try await vault.settings()) }
        let given = try VaultOpener.passcode(global)
        do throws(CofferError) {
            return try show(try await Self.changed(vault, change, given))
        } catch {
            guard error.code == .locked, given == nil else { throw error }
            guard let typed = try await VaultOpener.currentPasscode(global, of: vault) else {
                throw CofferError(.locked, Self.noTerminal)
            }
            try show(try await Self.changed(vault, change, typed))
        }
    }

    private static let noTerminal =
        "Loosening a setting requires the passcode, even while the vault is unlocked, and there is no "
        + "terminal to ask for it. Specify it with --passcode-fd."

    private static func changed(
        _ vault: Vault, _ change: Change, _ passcode: Passcode?
    ) async throws(CofferError) -> VaultSettings {
        try await VaultOpener.waitingForDelay { () async throws(CofferError) in
            try await vault.changeSettings(passcode: passcode) { (settings) throws(CofferError) in
                try change.apply(to: &settings)
            }
        }
    }

    /// Returns the changes that the options specify, or `nil` if there are none.
    private func wantedChange() throws(CofferError) -> Change? {
        guard
            policy != nil || minimumLength != nil || denyCommon != nil || denyFile != nil
                || attemptDelays != nil || inactivity != nil
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
        if let inactivity { change.inactivity = .some(try InitCommand.inactivity(inactivity)) }
        return change
    }

    private func show(_ settings: VaultSettings) throws(CofferError) {
        let minutes = settings.inactivity.map { (Int($0.components.seconds) + 59) / 60 }
        let fields: [(String, JSONDocument)] = [
            ("policy", .text(settings.policy.characters.word)),
            ("minimumLength", .number(settings.policy.minimumLength)),
            ("denyCommon", .flag(settings.policy.rejectsCommon)),
            ("deniedPasscodes", .number(settings.policy.denylistCount)),
            ("attemptDelays", .flag(settings.delaysAttempts)),
            ("inactivityMinutes", minutes.map { .number($0) } ?? .none),
        ]
        guard !global.json else { return try Output.json(.object(fields)) }
        for (name, value) in fields {
            switch value {
            case .value(.string(let text)): try Output.line("\(name): \(text)")
            case .value(.null): try Output.line("\(name): until a reboot")
            default: try Output.line("\(name): \(value.encoded())")
            }
        }
    }
}

extension PasscodePolicy.Characters {
    /// The word for these characters in `--policy`.
    fileprivate var word: String {
        switch self {
        case .any: InitCommand.Policy.none.rawValue
        case .digits: InitCommand.Policy.digits.rawValue
        case .lettersAndDigits: InitCommand.Policy.alphanumeric.rawValue
        }
    }
}
