import ArgumentParser
import CofferBase
import CofferCommandLine
import CofferDBus
import CofferEngine

/// The `coffer version` command, which prints the versions of this program and its libraries.
struct VersionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "version",
        abstract: "Print the versions of this program and its libraries.",
        discussion: """
            coffer --version prints the same without SQLite, which only the program coffer-database loads. \
            The library versions are those of the libraries that are loaded.
            """)

    /// The names of the package's products in this release.
    static let products = [
        "Coffer", "CofferDatabase", "CofferBackup", "CofferOAuth", "CofferCrypto", "CofferTesting",
        "coffer-c", "coffer", "coffer-oauth", "coffer-database", "coffer-pkcs11", "bench",
    ]

    @OptionGroup var global: NoVaultOptions

    @Flag(name: .customLong("without-sqlite"), help: .hidden)
    var withoutSQLite = false

    /// The package traits that are enabled in this build.
    private static var traits: [String] {
        var names = BusLibrary.version == nil ? [] : ["SecretService"]
        #if OAuth
            names.append("OAuth")
        #endif
        return names
    }

    /// The names and versions of the C libraries. Without a version, `absence` says why there is none.
    private var libraries: [(name: String, version: String?, absence: String)] {
        let sqlite = withoutSQLite ? [] : [Self.sqlite]
        return [
            ("OpenSSL", OpenSSLFailure.libraryVersion, ""), ("libsodium", SodiumLibrary.version, ""),
        ] + sqlite + [("GLib", BusLibrary.version, "not built in")]
    }

    private static var sqlite: (name: String, version: String?, absence: String) {
        let name = "SQLite"
        do throws(CofferError) {
            let version = try DatabaseProgram.sqlite()?["version"]?.string
            return (name, version, "not loaded: the program \(DatabaseProgram.name) is not installed")
        } catch {
            return (name, nil, "unknown: \(error.advice)")
        }
    }

    func run() throws(CofferError) {
        guard !global.json else { return try Output.json(document) }
        try Output.line("coffer \(PackageVersion.current)")
        for library in libraries {
            try Output.line("\(library.name) \(library.version ?? library.absence)")
        }
        try Output.line("traits: \(Self.traits.isEmpty ? "none" : Self.traits.joined(separator: ", "))")
        try Output.line("products: \(Self.products.joined(separator: ", "))")
    }

    private var document: JSONDocument {
        .object([
            ("version", .text(PackageVersion.current)),
            ("products", .list(Self.products.map { .text($0) })),
            ("traits", .list(Self.traits.map { .text($0) })),
            ("libraries", .object(libraries.map { ($0.name, $0.version.map { .text($0) } ?? .none) })),
        ])
    }
}
