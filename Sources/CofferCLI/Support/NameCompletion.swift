import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferDatabase
import CofferEngine

/// The completions of names that only the vault knows. The shell runs this program to complete the word.
///
/// A completion never asks for a passcode, ends at a deadline, and offers nothing if it fails, for example
/// because the vault is locked. It uses the vault that `--home` and `--user` on the command line specify.
enum NameCompletion {
    /// The services of the stored tokens.
    static let service = CompletionKind.custom(NameCompletion.services)
    /// The accounts at the services that the command line names.
    static let account = CompletionKind.custom(NameCompletion.accounts)
    /// The vault's own databases.
    static let database = CompletionKind.custom(NameCompletion.databases)
    /// The soup stores.
    static let store = CompletionKind.custom(NameCompletion.stores)
    /// The soups in the store that the command line names.
    static let soup = CompletionKind.custom(NameCompletion.soups)

    /// The words after `coffer oauth`.
    static let oauth = CompletionKind.custom(OAuthCompletion.words)

    /// The time after which the process ends, because the user's shell waits for it.
    private static let deadline: UInt32 = 5

    /// Starts the deadline of a command that completes a word.
    static func startDeadline() { ProcessDeadline.start(seconds: deadline) }

    private static func services(_ words: [String], _ index: Int, _ prefix: String) async -> [String] {
        await tokens(words).map(\.service).plainWords
    }

    private static func accounts(_ words: [String], _ index: Int, _ prefix: String) async -> [String] {
        let named = words.prefix(max(0, index))
        return await tokens(words).filter { id in named.contains { $0.hasSameBytes(as: id.service) } }
            .map(\.account).plainWords
    }

    private static func databases(_ words: [String], _ index: Int, _ prefix: String) async -> [String] {
        startDeadline()
        guard let global = options(words),
            let names = try? await VaultDatabases(VaultOpener.vault(global, isSilent: true)).names()
        else { return [] }
        return names.plainWords
    }

    private static func stores(_ words: [String], _ index: Int, _ prefix: String) async -> [String] {
        startDeadline()
        guard let global = options(words),
            let names = try? await SoupStores(VaultOpener.vault(global, isSilent: true)).names(scope(words))
        else { return [] }
        return names.plainWords
    }

    private static func soups(_ words: [String], _ index: Int, _ prefix: String) async -> [String] {
        startDeadline()
        let scope = scope(words)
        guard let global = options(words),
            let name = try? SoupStoreName(value(of: "--store", words) ?? "default", scope).name,
            let vault = try? await VaultOpener.unlockedSilently(global)
        else { return [] }
        let stores = SoupStores(vault)
        // A store that is absent would be created.
        guard let known = try? await stores.names(scope), known.contains(where: { $0.hasSameBytes(as: name) })
        else { return [] }
        let names = try? await stores.store(name, scope).soupNames()
        await stores.close()
        return (names ?? []).plainWords
    }

    private static func tokens(_ words: [String]) async -> [TokenID] {
        startDeadline()
        guard let global = options(words), let vault = try? await VaultOpener.unlockedSilently(global),
            let listing = try? await vault.tokens.listing()
        else { return [] }
        return listing.tokens.map(\.id)
    }

    private static func scope(_ words: [String]) -> SoupStoreName.Scope {
        words.contains { $0.hasSameBytes(as: "--global") } ? .global : .user
    }

    /// Returns the options that specify the vault on an unfinished command line.
    static func options(_ words: [String]) -> GlobalOptions? {
        var found: [String] = []
        for option in ["--home", "--user"] {
            guard let value = value(of: option, words) else { continue }
            found.append("\(option)=\(value)")
        }
        return try? GlobalOptions.parse(found)
    }

    /// Returns the value of an option among the words of a command line. For bash, `=` is a word of its own.
    private static func value(of option: String, _ words: [String]) -> String? {
        for (place, word) in words.enumerated() {
            if word.utf8.hasPrefix(option + "=") {
                return String(decoding: word.utf8.dropFirst(option.utf8.count + 1), as: UTF8.self)
            }
            guard word.hasSameBytes(as: option) else { continue }
            let rest = words[(place + 1)...]
            return rest.first { !$0.hasSameBytes(as: "=") }
        }
        return nil
    }
}

extension [String] {
    /// The different names that shells interpret as one plain word and that are no options, sorted. Shells
    /// expand the words that they receive, and names may come from someone else.
    var plainWords: [String] {
        // A set of strings would hold one of two names that are equal in Unicode alone.
        let different: Set<[UInt8]> = Set(map { [UInt8]($0.utf8) })
        let hyphen = UInt8(ascii: "-")
        let arguments = different.filter { (bytes: [UInt8]) in !bytes.isEmpty && bytes.first != hyphen }
        let words: [String] = arguments.map { String(decoding: $0, as: UTF8.self) }
        return words.filter(FileReference.isPlainWord).sorted()
    }
}
