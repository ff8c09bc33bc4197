import ArgumentParser
import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

/// The `coffer pkcs11` command.
struct PKCS11Command: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pkcs11",
        abstract: "Let programs such as curl use key pairs and certificates by PKCS #11.",
        discussion: """
            p11-kit runs the vault's part in a process of its own: coffer pkcs11 install tells it how. \
            Programs then find the certificates and keys of key pairs with the uses tls-client and sign in \
            the token coffer, by their aliases, and sign with them. They never get a private key.
            """,
        subcommands: [PKCS11Install.self, PKCS11Serve.self])
}

/// The `coffer pkcs11 serve` command, which becomes the program that loads p11-kit's library.
struct PKCS11Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Serve key pairs to the program at standard input and output.",
        discussion: """
            p11-kit starts this command for a program that looks for keys, and it ends with that program. \
            While the vault is locked, certificates and keys are listed, and only keys of the classes that \
            outlast a lock sign; why others do not is printed on standard error. A key with --confirm asks \
            with the program in SSH_ASKPASS. The program coffer-pkcs11 does the work, with p11-kit's library.
            """)

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        var words: [String] = []
        if let home = global.home { words += ["--home", home] }
        if let user = global.user { words += ["--user", user] }
        if global.allowPrompt { words.append("--allow-prompt") }
        try ImmediateBinding.request()
        try CurrentExecutable.become(
            sibling: PKCS11ModuleFile.program, words.map { ProgramArguments.bytes($0) })
    }
}

/// The `coffer pkcs11 install` command, which tells p11-kit of the vault.
struct PKCS11Install: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "install", abstract: "Write the file by which p11-kit finds the vault's key pairs.",
        discussion: """
            The file is ~/.config/pkcs11/modules/coffer.module. p11-kit reads such files only for users \
            other than root. To undo it, remove the file.
            """)

    @OptionGroup var global: GlobalOptions

    @Flag(help: "Replace an existing file.")
    var replace = false

    func run() async throws {
        try PKCS11ModuleFile.requireProgram()
        let home = try global.homePath()
        guard let path = home.isAbsolute ? home : Environment.workingDirectory?.pushing(home) else {
            throw CofferError(.unsupported, "The working directory is gone. Specify --home from the root.")
        }
        var words = ["pkcs11", "serve", "--home"].map { Array($0.utf8) }
        words.insert(try CurrentExecutable.path(ofSibling: "coffer"), at: 0)
        words.append(FileNameBytes.of(path))
        if let user = global.user { words += [Array("--user".utf8), ProgramArguments.bytes(user)] }
        if global.allowPrompt { words.append(Array("--allow-prompt".utf8)) }
        let paths = try UserFile.write([PKCS11ModuleFile.file(for: words)], replacing: replace)
        guard !global.json else {
            return try Output.json(.object([("files", .list(paths.map { .text($0.string) }))]))
        }
        for path in paths { try Output.line(path.string) }
        do throws(CofferError) {
            _ = try await VaultOpener.vault(global, isSilent: true)
        } catch {
            // Programs do not tell an empty token from one whose vault is missing.
            if error.code == .notInitialised { Output.message("coffer: \(error.advice)") }
        }
        Output.message("coffer: To see what programs find, run p11tool --list-all 'pkcs11:token=coffer'.")
        if Environment.userID == 0 {
            Output.message("coffer: For root, p11-kit does not read this file. Run this as another user.")
        }
    }
}
