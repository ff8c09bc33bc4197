import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import FoundationEssentials

/// The `coffer wipe` command, which erases the vault.
struct WipeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wipe",
        abstract: "Erase the vault: keys first, then everything else. Cannot be undone.",
        discussion: """
            Works while the vault is locked and needs no passcode. No file in the vault directory has to be \
            readable: even if files are damaged, missing or held by another process, the command erases \
            what it can. Prints a receipt. If there is a vault, the command fails only if something is \
            provably still there, and then lists what remains. Ends with 6 if the vault was wiped before, \
            and with 12 if there is no vault. The next command that opens the vault finishes an interrupted \
            wipe. If nothing shows that there is a vault, the command changes nothing.

            With --prove, the command plants canaries if the vault can be unlocked: a token, a file, a view \
            copy, and class keys in the kernel keyring. A search must find them before the wipe. After the \
            wipe, it must find none of them and none of the keys in the vault's files. It covers the vault \
            directory, the in-memory directories, the desktop keyring's files, the kernel keyring and this \
            process's memory. Exits with 1 if something is left.

            With --user, erases only that user's vault.

            With --order, a signed order determines what to erase: see remote-wipe. A refused order changes \
            nothing. The receipt contains the order's digest.
            """)

    @OptionGroup var global: GlobalOptions

    @Flag(help: "Confirm the erasure.")
    var yes = false

    @Flag(
        help: "Erase only tokens; files and passcode stay, as do databases unless the token file is damaged."
    )
    var tokens = false

    @Flag(help: "Search for traces before and after the wipe.")
    var prove = false

    @Option(
        help: ArgumentHelp("Execute this signed order; - for standard input.", valueName: "file"),
        completion: .file())
    var order: String?

    func run() async throws {
        if let order { return try await printReceiptIfPossible(executeCommand(order)) }
        guard yes else {
            let target = try target()
            throw CofferError(.invalidInput, "This command erases \(target) for good. Confirm with --yes.")
        }
        let scope = try scope()
        guard prove else {
            return try await end(Vault.startWipe(scope, at: try VaultOpener.homeLocation(global)))
        }
        guard scope == .all else {
            throw CofferError(.invalidInput, "--prove works only for the whole vault.")
        }
        let vault = try await VaultOpener.vault(global)
        var proof = WipeProof(of: vault.vaultID, at: try VaultOpener.location(global))
        try await unlock(vault, &proof)
        if vault.isUnlocked {
            try await proof.plantCanaries(in: vault)
        } else {
            Output.message(
                "coffer: The vault is locked, so the search covers only the keys in the vault's files.")
        }
        try proof.scanBeforeWipe()
        try proof.requirePositiveControl()
        let receipt = try await vault.wipe()
        let matches = try proof.scanAfterWipe()
        try printReceipt(receipt, (proof, matches))
        guard matches.isEmpty else { throw ExitCode(1) }
    }

    /// Waits for the wipe to end and prints its receipt, even if the wipe is incomplete.
    private func end(_ wipe: WipeOperation) async throws {
        let error: CofferError
        do throws(CofferError) {
            return try await printReceiptIfPossible(wipe.receipt)
        } catch let failure {
            error = failure
        }
        guard let receipt = await wipe.partialReceipt else { throw error }
        guard global.json else {
            printReceiptIfPossible(receipt)
            throw error
        }
        try? Output.json(.object(receipt.members + [("error", Failure.document(error))]))
        Output.message("coffer: \(error.advice)")
        throw ExitCode(error.code.exitCode)
    }

    /// Unlocks the vault with the given passcode, with cached keys, or, if no passcode is set, without one.
    /// If none of these is possible, leaves the vault locked.
    private func unlock(_ vault: Vault, _ proof: inout WipeProof) async throws(CofferError) {
        if let number = global.passcodeFd {
            let secret = try PasscodeInput.passcode(on: number)
            proof.add("the passcode", secret)
            return try await VaultOpener.unlock(vault, with: Passcode(secret))
        }
        guard try await !vault.restoreCachedKeys() else { return }
        do throws(CofferError) {
            try await vault.unlock()
        } catch {
            guard error.code == .locked else { throw error }
        }
    }

    /// Returns the description of what a wipe with these options erases.
    private func target() throws(CofferError) -> String {
        let path = try VaultOpener.homeLocation(global).path
        let scope = try scope()
        return switch scope {
        case .user(let user): "the vault of the user \(user) in \(path)"
        case .tokens: "the tokens of the vault at \(path)"
        default: "the vault at \(path)"
        }
    }

    private func scope() throws(CofferError) -> WipeScope {
        guard let user = global.user else { return tokens ? .tokens : .all }
        guard !tokens else { throw CofferError(.invalidInput, "Specify either --tokens or --user.") }
        return .user(user)
    }

    /// Prints the receipt if possible. A complete wipe does not fail because its receipt cannot be printed.
    private func printReceiptIfPossible(_ receipt: WipeReceipt) {
        do throws(CofferError) {
            try printReceipt(receipt, nil)
        } catch {
            Output.message("coffer: \(error.advice)")
        }
    }

    private func printReceipt(_ receipt: WipeReceipt, _ proof: (WipeProof, matches: [String])?)
        throws(CofferError)
    {
        guard !global.json else {
            return try Output.json(
                .object(receipt.members + (proof.map { [("proof", $0.0.document($0.matches))] } ?? [])))
        }
        try Output.line(receipt.headline)
        for (kind, count) in receipt.removed.sorted(by: { $0.key < $1.key }) {
            try Output.line("  \(kind): \(count)")
        }
        if let (proof, matches) = proof { try proof.printMatches(matches) }
        if !receipt.failures.isEmpty {
            try Output.line("STILL THERE:")
            for item in receipt.failures { try Output.line("  \(item.printable)") }
        }
        try Output.line("Could not be proved erased:")
        for item in receipt.unverified { try Output.line("  \(item.printable)") }
    }

    private func executeCommand(_ order: String) async throws(CofferError) -> WipeReceipt {
        guard !yes, !tokens, !prove, global.user == nil else {
            throw CofferError(.invalidInput, "The order determines what to erase. Specify --order alone.")
        }
        let read = try OrderFile.read(order)
        guard case .wipe = read.content.action else {
            throw CofferError(
                .invalidInput,
                "The order was not executed, because it erases nothing. Apply the order with coffer "
                    + "remote-wipe apply.")
        }
        let outcome = try await Vault.execute(
            read, at: VaultOpener.location(global), interaction: global.interaction)
        guard case .wiped(let receipt) = outcome else {
            throw CofferError(.internalFailure, "The order was executed, but no receipt was created.")
        }
        return receipt
    }
}

extension WipeReceipt {
    /// The first line of the printed receipt.
    fileprivate var headline: String {
        guard let milliseconds = keysDestroyedAfterMilliseconds else {
            return "Vault \(vaultID) was not wiped: data that may contain its keys could not be erased."
        }
        let time = "\((milliseconds * 10).rounded() / 10) ms"
        guard scope != "tokens" else {
            return "Wiped the tokens of vault \(vaultID) in \(time). The vault's keys, files and databases "
                + "stay."
        }
        return failures.isEmpty
            ? "Wiped vault \(vaultID): its keys were destroyed after \(time)."
            : "Vault \(vaultID) was not completely wiped. Its own keys were destroyed after \(time)."
    }

    fileprivate var members: [(String, JSONDocument)] {
        [
            ("vaultID", .text(vaultID.uuidString)), ("scope", .text(scope)), ("reason", .text(reason)),
            ("orderDigest", orderDigest.map { .text($0) } ?? .none),
            ("started", .text(started.iso8601)),
            ("finished", .text(finished.iso8601)),
            ("keysDestroyedAfterMilliseconds", keysDestroyedAfterMilliseconds.map { .decimal($0) } ?? .none),
            ("completesInterrupted", .flag(completesInterrupted)),
            ("removed", .object(removed.sorted { $0.key < $1.key }.map { ($0.key, .number($0.value)) })),
            ("unproved", .list(unverified.map { .text($0) })),
            ("failures", .list(failures.map { .text($0) })),
        ]
    }
}

extension WipeProof {
    fileprivate func document(_ matches: [String]) -> JSONDocument {
        .object([
            ("lookedFor", .list(names.map { .text($0) })), ("searched", .list(locations.map { .text($0) })),
            ("foundBefore", .object(control.map { ($0.location, .number($0.matches)) })),
            ("found", .list(matches.map { .text($0) })),
        ])
    }

    fileprivate func printMatches(_ matches: [String]) throws(CofferError) {
        try Output.line("Looked for: \(names.joined(separator: ", ")).")
        for (location, count) in control { try Output.line("  found before, in \(location): \(count)") }
        let searched = locations.joined(separator: ", ")
        try Output.line(matches.isEmpty ? "Found after: nothing, in \(searched)." : "FOUND AFTER:")
        for match in matches { try Output.line("  \(match)") }
    }
}
