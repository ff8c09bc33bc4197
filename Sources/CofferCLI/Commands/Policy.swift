import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine

/// The `coffer policy` command, which groups the subcommands for the administrator's policy.
struct PolicyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy", abstract: "Show, check, install or convert the administrator's policy.",
        discussion: """
            The administrator of this machine sets rules for all vaults in the files *.plist and *.json in \
            /etc/coffer/policy.d, which are read in the order of their names at each unlock. Of \
            restrictions, the strictest counts; of other keys, the last file that has one.

            A file that belongs to another user than root, that others can write to, or that has a mistake \
            stops coffer init, every unlock and coffer token put until it is corrected. coffer lock, wipe \
            and status work all the same.
            """,
        subcommands: [PolicyShow.self, PolicyCheck.self, PolicyInstall.self, PolicyConvert.self])
}

/// The `coffer policy show` command, which prints the policy in effect.
struct PolicyShow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print each managed value, and where it comes from.",
        discussion: """
            Shows the policy that the next unlock obeys. enforced: this program obeys the value. offered: \
            the application that uses the vault must act on it. Needs no vault.
            """)

    @OptionGroup var options: NoVaultOptions

    func run() async throws {
        let policy = try ManagedPolicy.installed()
        for notice in policy.notices { Output.message("coffer: \(notice.printable)") }
        guard !options.json else { return try Output.json(policy.document) }
        guard !policy.keys.isEmpty else { return Output.message("coffer: This machine has no policy.") }
        for key in policy.keys {
            let origins = policy.origins(of: key).map(\.description).joined(separator: ", ")
            let value = policy.text(of: key).printable
            try Output.line("\(key.rawValue): \(value) (\(key.grade.rawValue), \(origins.printable))")
        }
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
        let (bytes, document) = try PolicyFile.read(file)
        for finding in document.findings {
            Output.message(
                "coffer: \(file.printable): \(finding.kind.word), \(finding.description.printable)")
        }
        guard document.isValid else {
            throw CofferError(.invalidInput, "\(file.printable) has mistakes. Nothing was installed.")
        }
        guard allowUnknown || !document.findings.contains(where: { $0.kind == .unknownKey }) else {
            throw CofferError(
                .invalidInput,
                "\(file.printable) has unknown keys. Nothing was installed. If a newer release knows them, "
                    + "specify --allow-unknown.")
        }
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
