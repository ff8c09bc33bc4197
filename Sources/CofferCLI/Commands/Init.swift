import ArgumentParser
import Coffer
import CofferBase
import CofferCrypto
import CofferEngine

/// `coffer init`
struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Create the home, or activate one that was wiped.",
        discussion: """
            The passcode comes from --passcode-fd or the terminal. Without one, whoever can read the home \
            can open it: say --no-passcode if that is what you want.
            """)

    enum Keyring: String, CaseIterable, ExpressibleByArgument {
        case auto, file, secretService = "secret-service"
    }
    enum Policy: String, CaseIterable, ExpressibleByArgument { case none, digits, alphanumeric }
    enum Switch: String, CaseIterable, ExpressibleByArgument { case on, off }

    @OptionGroup var global: GlobalOptions

    @Option(
        help: """
            Where the device key and the tokens are kept: secret-service is the desktop's keyring, file the \
            embedded one; auto takes the desktop's where it answers and is unlocked.
            """)
    var keyring = Keyring.auto

    @Flag(help: "Protect the vault by the device key alone.")
    var noPasscode = false

    @Option(
        parsing: .singleValue,
        help: """
            What passcodes must look like: 4 to 8 digits, or at least 5 characters with letters and digits. \
            Of several, the strictest.
            """)
    var policy: [Policy] = []

    @Option(
        help: ArgumentHelp(
            "The least length of passcodes, 1 to 128, in characters as a reader counts them.",
            valueName: "characters"))
    var minimumLength: Int?

    @Flag(help: "Refuse passcodes that are guessed first, such as 1234 or password1.")
    var denyCommon = false

    @Option(
        help: ArgumentHelp("Refuse the passcodes of this file, one a line, at most 256.", valueName: "path"))
    var denyFile: String?

    @Option(help: "Whether wrong passcodes are answered more and more slowly, from the fifth on.")
    var attemptDelays = Switch.on

    @Option(
        help: ArgumentHelp(
            "Lock after so long without use; 'reboot': only then.", valueName: "minutes|reboot"))
    var inactivity = "10"

    @Flag(help: "Let the home be on a removable medium or a network file system.")
    var allowExternal = false

    @Option(help: ArgumentHelp("Memory for one guess at the passcode: 8 to 4096.", valueName: "MiB"))
    var kdfMemory = Argon2id.Cost.standard.memoryKiB / 1024

    @Option(help: ArgumentHelp("Passes over that memory: 2 to 64.", valueName: "passes"))
    var kdfPasses = Argon2id.Cost.standard.passes

    func run() async throws {
        var options = try homeOptions()
        let location = try VaultOpener.location(global)
        let status = try await Vault.status(at: location)
        guard status.vaultID == nil else {
            throw CofferError(.alreadyExists, "There is a vault at \(location.path) already.")
        }
        options.keyring = try await backend(at: location)
        let session = try await Vault.create(
            at: location, options: options, passcode: try passcode(), interaction: global.interaction)
        let vaultID = session.vaultID.description
        session.close()
        if global.json {
            try Output.json(
                .object([("vaultID", .text(vaultID)), ("keyring", .text(options.keyring.rawValue))]))
        } else {
            let place = options.keyring == .file ? "the home" : "the Secret Service"
            try Output.line(
                "Created vault \(vaultID) at \(location.path); its device key and tokens are in \(place).")
        }
    }

    private func backend(at location: VaultLocation) async throws(CofferError) -> KeyringBackend {
        switch keyring {
        case .file: return .file
        case .secretService:
            // Before a passcode is asked for.
            try await Vault.checkSecretService(at: location, interaction: global.interaction)
            return .secretService
        case .auto: return await Vault.preferredStorage(at: location)
        }
    }

    private func passcode() throws(CofferError) -> Passcode? {
        guard !noPasscode else {
            guard global.passcodeFd == nil else {
                throw CofferError(.invalidInput, "Either --no-passcode or --passcode-fd.")
            }
            return nil
        }
        if let passcode = try VaultOpener.passcode(global) { return passcode }
        return try VaultOpener.newPasscode(onDescriptor: nil, option: "--passcode-fd")
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
        if let denyFile {
            let file = try Descriptor.open(FilePathArgument.path(denyFile), [.read, .nonBlocking])
            guard try file.status().kind == .regular else {
                throw CofferError(.invalidInput, "\(denyFile.printable) is not a file.")
            }
            let text = String(decoding: try file.readAll(limit: Self.maxDenyFileLength), as: UTF8.self)
            let words = text.unicodeScalars.split(whereSeparator: \.endsLine).map { String($0) }
            policies.append(try .withDenylist(words))
        }
        return try .strictest(of: policies)
    }

    private static let maxDenyFileLength = 1 << 16

    private func homeOptions() throws(CofferError) -> VaultOptions {
        var options = VaultOptions()
        options.policy = try passcodePolicy()
        options.allowsExternalMedia = allowExternal
        options.delaysAttempts = attemptDelays == .on
        let (memory, isTooMuch) = kdfMemory.multipliedReportingOverflow(by: 1024)
        options.cost = try Argon2id.Cost(memoryKiB: isTooMuch ? .max : memory, passes: kdfPasses)
        if inactivity == "reboot" {
            options.inactivity = nil
        } else {
            guard let minutes = Int(inactivity), (1...525_600).contains(minutes) else {
                throw CofferError(.invalidInput, "--inactivity takes 1 to 525600 minutes, or reboot.")
            }
            options.inactivity = .seconds(minutes * 60)
        }
        return options
    }
}
