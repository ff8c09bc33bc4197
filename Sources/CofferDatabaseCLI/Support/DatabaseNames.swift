import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferDatabase

/// The completions of the names of databases, stores and soups.
enum DatabaseNames {
    /// The vault's own databases.
    static let database = CompletionKind.custom(databases)
    /// The soup stores.
    static let store = CompletionKind.custom(stores)
    /// The soups in the store that the command line names.
    static let soup = CompletionKind.custom(soups)

    private static func databases(_ words: [String], _ index: Int, _ prefix: String) async -> [String] {
        NameCompletion.startDeadline()
        guard let global = NameCompletion.options(words),
            let names = try? await VaultDatabases(VaultOpener.vault(global, isSilent: true)).names()
        else { return [] }
        return names.plainWords
    }

    private static func stores(_ words: [String], _ index: Int, _ prefix: String) async -> [String] {
        NameCompletion.startDeadline()
        guard let global = NameCompletion.options(words),
            let names = try? await SoupStores(VaultOpener.vault(global, isSilent: true)).names(scope(words))
        else { return [] }
        return names.plainWords
    }

    private static func soups(_ words: [String], _ index: Int, _ prefix: String) async -> [String] {
        NameCompletion.startDeadline()
        let scope = scope(words)
        guard let global = NameCompletion.options(words),
            let name = try? SoupStoreName(NameCompletion.value(of: "--store", words) ?? "default", scope)
                .name,
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

    private static func scope(_ words: [String]) -> SoupStoreName.Scope {
        words.contains { $0.hasSameBytes(as: "--global") } ? .global : .user
    }
}
