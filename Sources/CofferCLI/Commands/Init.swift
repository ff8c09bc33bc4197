import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine

/// The `coffer init` command, which creates a vault or reactivates a wiped one.
struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Create a vault, or reactivate one that was wiped.",
        discussion: """
            The passcode comes from --passcode-fd or the terminal. Without a passcode, anyone who can read \
            the vault directory can open the vault; to allow that, specify --no-passcode.

            The tenth wrong passcode in a row erases the vault with everything in it, and the contents \
            cannot be recovered, not even with a recovery key. \(CopyAdvice.copies) The same wrong \
            passcode twice in a row counts once.

            \(CopyAdvice.recovery)

            With --erase-after never, wrong passcodes erase nothing. They are counted, and from the fifth on \
            each makes the next attempt wait twice as long, up to an hour; nothing else stops someone at \
            this machine from guessing on. Choose a long passcode. Earlier releases of coffer refuse to open \
            such a vault.
            """)

    enum Keyring: String, CaseIterable, ExpressibleByArgument {
        case auto, file, secretService = "secret-service"
    }
    enum Policy: String, CaseIterable, ExpressibleByArgument {
        case none, digits, alphanumeric

        /// The rules for the help of every option that takes a policy.
        static let rules = """
            The characters in passcodes: with digits, 4 to 8 of 0 to 9, or exactly --minimum-length if that \
            is greater than 8; with alphanumeric, at least 5 characters with letters and digits.
            """
    }
    enum Switch: String, CaseIterable, ExpressibleByArgument { case on, off }
    enum EraseAfter: String, CaseIterable, ExpressibleByArgument {
        case ten = "10", never

        /// Returns the number of consecutive wrong passcodes that erase a vault, or a null value if wrong
        /// passcodes never erase it.
        static func document(erases: Bool) -> JSONDocument { erases ? .number(10) : .none }
    }

    @OptionGroup var global: GlobalOptions

    @Option(
        help: """
            Where to keep the device key and the tokens: secret-service uses the desktop keyring, file the \
            embedded one. auto uses the desktop keyring if it responds and is unlocked.
            """)
    var keyring = Keyring.auto

    @Flag(help: "Protect the vault with the device key alone.")
    var noPasscode = false

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            Policy.rules + " A --minimum-length raises these numbers. If repeated, the strictest applies."))
    var policy: [Policy] = []

    @Option(
        help: ArgumentHelp(
            "The minimum passcode length, 1 to 128, in user-perceived characters.",
            valueName: "characters"))
    var minimumLength: Int?

    @Flag(help: "Refuse passcodes that attackers guess first, such as 1234 or password1.")
    var denyCommon = false

    @Option(
        help: ArgumentHelp(
            "Refuse the passcodes in this file: one per line, at most 256.",
            valueName: "path"))
    var denyFile: String?

    @Option(help: "Increase the delay after each wrong passcode, from the fifth on.")
    var attemptDelays = Switch.on

    @Option(help: "The number of wrong passcodes in a row that erases the vault.")
    var eraseAfter = EraseAfter.ten

    @Option(
        help: ArgumentHelp(
            "Lock after this time without use: 10 (minutes), 10m or 1h; with 'reboot', only on reboot.",
            valueName: "time|reboot"))
    var inactivity = "10"

    @Flag(help: "Allow the vault on a removable medium or a network file system.")
    var allowExternal = false

    @Flag(
        help: """
            Create the vault, and add files to it, only where the disk is known to be encrypted, as by LUKS \
            or fscrypt. Earlier releases of coffer refuse to open such a vault.
            """)
    var requireDiskEncryption = false

    @Flag(
        inversion: .prefixedNo,
        help: """
            Whether a new item gets the class whenUnlocked, which a backup can restore on another machine, \
            unless a command specifies another. On a terminal, the command asks. Earlier releases of coffer \
            refuse to open a vault whose new items are movable.
            """)
    var movable: Bool?

    @Option(help: "Allow a recovery key. Earlier releases of coffer refuse to open a vault without.")
    var recoveryKeys = Switch.on

    @Flag(help: "Do not offer to make a recovery key. Without a terminal, none is offered.")
    var noRecovery = false

    @Option(help: ArgumentHelp("The memory that each passcode guess needs, 8 to 4096.", valueName: "MiB"))
    var kdfMemory = Argon2id.Cost.standard.memoryKiB / 1024

    @Option(help: ArgumentHelp("The number of passes over that memory, 2 to 64.", valueName: "passes"))
    var kdfPasses = Argon2id.Cost.standard.passes

    func run() async throws {
        var options = try homeOptions()
        let location = try VaultOpener.location(global)
        let status = try await Vault.status(at: location)
        guard status.vaultID == nil else {
            throw CofferError(.alreadyExists, "A vault already exists at \(location.path).")
        }
        options.keyring = try await backend(at: location)
        let passcode = try passcode(options.policy)
        options.newItemsAreMovable = try isMovable()
        let vault = try await Vault.create(
            at: location, options: options, passcode: passcode, interaction: global.interaction)
        let vaultID = vault.vaultID.description
        vault.close()
        guard !global.json else {
            return try Output.json(
                .object([
                    ("vaultID", .text(vaultID)), ("keyring", .text(options.keyring.rawValue)),
                    ("eraseAfter", EraseAfter.document(erases: !noPasscode && eraseAfter == .ten)),
                ]))
        }
        let storage = options.keyring == .file ? "that directory" : "the Secret Service"
        try Output.line(
            "Created vault \(vaultID) at \(location.path). The device key and the tokens are in \(storage).")
        guard !noPasscode else { return }
        try Output.line(
            VaultOpener.erasureNotice(
                erases: options.erasesAfterTenFailures, delays: options.delaysAttempts))
        try Output.line(CopyAdvice.copies)
        guard let passcode, recoveryKeys == .on else { return }
        guard await !isRecoveryKeyMade(vault, at: location, passcode) else { return }
        try Output.line(CopyAdvice.recovery)
    }

    /// Offers a recovery key on the terminal where the passcode was typed, and returns whether there is one
    /// now. The vault exists whatever becomes of the offer.
    private func isRecoveryKeyMade(
        _ vault: Vault, at location: VaultLocation, _ passcode: Passcode
    ) async -> Bool {
        guard !noRecovery, global.passcodeFd == nil else { return false }
        do throws(CofferError) {
            let isWanted = try TerminalQuestion.isConfirmed(
                "A recovery key on paper opens the vault if the passcode is forgotten. Make one now?")
            guard isWanted else { return false }
            let number = try await RecoveryCreate.create(
                in: vault, at: location, passcode, RecoverySheetOutput(), strictDevice: false, asJSON: false)
            Output.message("coffer: \(RecoveryCreate.confirmation(number))")
            return true
        } catch {
            Output.message("coffer: \(error.advice)")
            return false
        }
    }

    /// Returns whether new items are movable. Asks the user who has just typed a passcode.
    private func isMovable() throws(CofferError) -> Bool {
        if let movable { return movable }
        guard !noPasscode, global.passcodeFd == nil, !global.json else { return false }
        return try TerminalQuestion.isConfirmed(
            "Should a backup be able to restore what you store on another machine, not on this one alone?")
    }

    private func backend(at location: VaultLocation) async throws(CofferError) -> KeyringBackend {
        switch keyring {
        case .file: return .file
        case .secretService:
            // Check before the passcode prompt.
            try await Vault.checkSecretService(at: location, interaction: global.interaction)
            return .secretService
        case .auto: return await Vault.preferredStorage(at: location)
        }
    }

    private func passcode(_ policy: PasscodePolicy) throws(CofferError) -> Passcode? {
        guard !noPasscode else {
            guard global.passcodeFd == nil else {
                throw CofferError(.invalidInput, "Specify either --no-passcode or --passcode-fd.")
            }
            return nil
        }
        if let passcode = try VaultOpener.passcode(global) { return passcode }
        return try VaultOpener.newPasscode(onDescriptor: nil, option: "--passcode-fd", policy: policy)
    }

    private func passcodePolicy() throws(CofferError) -> PasscodePolicy {
        var policies: [PasscodePolicy] = policy.map { policy in
            switch policy {
            case .none: .none
            case .digits: .digits
            case .alphanumeric: .alphanumeric
            }
        }
        if let minimumLength { policies.append(try .minimumLength(minimumLength)) }
        if denyCommon { policies.append(.rejectingCommon) }
        if let denyFile { policies.append(try .withDenylist(Self.deniedPasscodes(in: denyFile))) }
        return try .strictest(of: policies)
    }

    /// Reads the passcodes that the vault is to refuse from a file that contains one passcode per line.
    static func deniedPasscodes(in name: String) throws(CofferError) -> [String] {
        let file = try Descriptor.open(FilePathArgument.path(name), [.read, .nonBlocking])
        guard try file.status().kind == .regular else {
            throw CofferError(.invalidInput, "\(name.printable) must be a regular file.")
        }
        let text = String(decoding: try file.readAll(limit: maxDenyFileLength), as: UTF8.self)
        return text.unicodeScalars.split(whereSeparator: \.endsLine).map { String($0) }
    }

    /// Parses an inactivity time. Returns `nil` if the vault locks only on reboot.
    static func inactivity(_ text: String) throws(CofferError) -> Duration? {
        guard text != "reboot" else { return nil }
        // A number without a unit is of minutes, the unit in which this time is shown.
        let isNumber = Int(text) != nil
        let seconds = TimeArgument.seconds(ofDuration: isNumber ? text + "m" : text) ?? 0
        guard (1...525_600).contains(seconds / 60), seconds % 60 == 0 else {
            throw CofferError(
                .invalidInput,
                "--inactivity takes 1 to 525600 minutes, a duration of whole minutes such as 5m, 1h or 1d, "
                    + "or reboot.")
        }
        return .seconds(seconds)
    }

    private static let maxDenyFileLength = 1 << 16

    private func homeOptions() throws(CofferError) -> VaultOptions {
        var options = VaultOptions()
        options.policy = try passcodePolicy()
        options.allowsExternalMedia = allowExternal
        options.requiresDiskEncryption = requireDiskEncryption
        options.delaysAttempts = attemptDelays == .on
        options.erasesAfterTenFailures = eraseAfter == .ten
        options.allowsRecoveryKey = recoveryKeys == .on
        let (memory, isTooMuch) = kdfMemory.multipliedReportingOverflow(by: 1024)
        options.cost = try Argon2id.Cost(memoryKiB: isTooMuch ? .max : memory, passes: kdfPasses)
        options.inactivity = try Self.inactivity(inactivity)
        return options
    }
}
