import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine

/// The `coffer policy` command, which groups the subcommands for the administrator's policy.
struct PolicyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "Show, check, install, sign, take or convert the administrator's policy.",
        discussion: """
            The administrator of this machine sets rules for all vaults in the files *.plist and *.json in \
            /etc/coffer/policy.d, which are read in the order of their names at each unlock. Of \
            restrictions, the strictest counts; of other keys, the last file that has one.

            A file that belongs to another user than root, that others can write to, or that has a mistake \
            stops coffer init, every unlock and coffer token put until it is corrected. coffer lock, wipe \
            and status work all the same.

            For machines without such files, an administrator signs a policy with coffer policy sign, and a \
            vault that trusts the key (coffer remote-wipe trust-key) takes it with coffer policy take. It \
            counts after the files, and stays until the vault takes a newer one or its owner removes the \
            key with coffer remote-wipe distrust-key and the passcode. Refusals have the codes of orders: \
            see coffer remote-wipe.
            """,
        subcommands: [
            PolicyShow.self, PolicyCheck.self, PolicyInstall.self, PolicySign.self, PolicyVerify.self,
            PolicyTake.self, PolicyConvert.self,
        ])
}

/// The `coffer policy show` command, which prints the policy in effect.
struct PolicyShow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print each managed value, and where it comes from.",
        discussion: """
            Shows the policy that the next unlock obeys: the files of this machine's administrator, and the \
            signed policy in the vault if there is a vault. enforced: this program obeys the value. \
            offered: the application that uses the vault must act on it.
            """)

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let (policy, signed) = try await policies()
        for notice in policy.notices { Output.message("coffer: \(notice.printable)") }
        guard !options.json else { return try Output.json(policy.document(signed)) }
        guard !policy.keys.isEmpty else { return Output.message("coffer: There is no policy.") }
        for key in policy.keys {
            let origins = policy.origins(of: key).map(\.description).joined(separator: ", ")
            let value = policy.text(of: key).printable
            try Output.line("\(key.rawValue): \(value) (\(key.grade.rawValue), \(origins.printable))")
        }
    }

    /// Returns the policy of the vault, or that of the machine if there is no vault.
    private func policies() async throws(CofferError) -> (ManagedPolicy, SignedPolicy?) {
        let vault: Vault
        do throws(CofferError) {
            vault = try await VaultOpener.vault(options)
        } catch {
            let policy = try ManagedPolicy.installed()
            if ![.notInitialised, .wiped].contains(error.code) || options.user != nil {
                Output.message("coffer: A signed policy in the vault is not shown. \(error.advice)")
            }
            return (policy, nil)
        }
        return (try vault.managedPolicy(), try await vault.signedPolicy())
    }
}

/// The `coffer policy check` command, which lists everything that is wrong with policy files.
struct PolicyCheck: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "List everything that is wrong with policy files.",
        discussion: """
            Prints each finding with its file, line and key. Ends with 64 if a file has a mistake; unknown \
            keys and missing quotation marks are none. Needs no vault.
            """)

    @OptionGroup var options: NoVaultOptions

    @Argument(
        help: "The files, whose names end in .plist or .json.",
        completion: .file(extensions: ["plist", "json"]))
    var files: [String]

    func run() async throws {
        var isValid = true
        var documents: [JSONDocument] = []
        for file in files {
            let document = try PolicyFile.read(file).document
            isValid = isValid && document.isValid
            documents += document.findings.map { $0.document(file: file) }
            guard !options.json else { continue }
            for finding in document.findings {
                try Output.line("\(file.printable): \(finding.kind.word), \(finding.description.printable)")
            }
        }
        if options.json {
            try Output.json(.object([("valid", .flag(isValid)), ("findings", .list(documents))]))
        } else if isValid {
            Output.message("coffer: \(files.count == 1 ? "The file is" : "All files are") valid.")
        }
        guard isValid else { throw ExitCode(CofferError.Code.invalidInput.exitCode) }
    }
}

/// The `coffer policy install` command, which installs a policy file for all users of this machine.
struct PolicyInstall: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "install", abstract: "Install a policy file for all users of this machine, as root.",
        discussion: """
            Checks the file, and puts a copy of it into /etc/coffer/policy.d in one step, in place of a \
            file of the same name. To take a policy back, remove that copy. Vaults obey it from the next \
            unlock on.
            """)

    @OptionGroup var options: NoVaultOptions

    @Argument(
        help: "The file, whose name ends in .plist or .json.",
        completion: .file(extensions: ["plist", "json"]))
    var file: String

    @Option(help: ArgumentHelp("The name of the copy; by default, that of the file.", valueName: "name"))
    var name: String?

    @Flag(help: "Install the file even if it has keys that this release does not know.")
    var allowUnknown = false

    func run() async throws {
        let (bytes, _) = try PolicyFile.readValid(file, allowUnknown: allowUnknown, "installed")
        let path = try ManagedPolicy.install(bytes, named: name ?? PolicyFile.name(file))
        if options.json { try Output.json(.object([("installed", .text(path))])) }
    }
}

/// The `coffer policy convert` command, which converts a policy file to another format.
struct PolicyConvert: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "convert", abstract: "Print a policy file as a property list or as JSON.",
        discussion: "Converts all keys, also unknown ones and mistaken values. Needs no vault.")

    /// A format of the output.
    enum Target: String, ExpressibleByArgument, CaseIterable {
        case plist, json

        var format: PolicyDocument.Format { self == .plist ? .propertyList : .json }
    }

    @OptionGroup var options: NoVaultOptions

    @Option(help: ArgumentHelp("The format of the output: plist or json.", valueName: "plist|json"))
    var to: Target

    @Argument(
        help: "The file, whose name ends in .plist or .json.",
        completion: .file(extensions: ["plist", "json"]))
    var file: String

    func run() async throws {
        let bytes = try PolicyFile.read(file).document.encoded(as: to.format)
        try Output.bytes(bytes.span)
    }
}
