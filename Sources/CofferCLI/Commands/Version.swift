import ArgumentParser
import CofferBase
import CofferCommandLine
import CofferDBus
import CofferDatabase
import CofferEngine

/// The `coffer version` command, which prints the versions of this program and its libraries.
struct VersionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "version",
        abstract: "Print the versions of this program and its libraries.",
        discussion: """
            coffer --version prints the same. The library versions are those of the libraries that are \
            loaded.
            """)

    /// The names of the package's products in this release.
    static let products = [
        "Coffer", "CofferDatabase", "CofferBackup", "CofferOAuth", "CofferCrypto", "CofferTesting", "coffer",
        "coffer-oauth", "bench",
    ]

    @OptionGroup var global: NoVaultOptions

    /// The package traits that are enabled in this build.
    private static var traits: [String] {
        var names = BusLibrary.version == nil ? [] : ["SecretService"]
        #if OAuth
            names.append("OAuth")
        #endif
        return names
    }

    /// The names and versions of the C libraries. The version is `nil` for a library that this build does not
    /// link.
    private static var libraries: [(name: String, version: String?)] {
        [
            ("OpenSSL", OpenSSLFailure.libraryVersion), ("libsodium", SodiumLibrary.version),
            ("SQLite", LinkedSQLite.version), ("GLib", BusLibrary.version),
        ]
    }

    func run() throws(CofferError) {
        guard !global.json else { return try Output.json(Self.document) }
        try Output.line("coffer \(PackageVersion.current)")
        for library in Self.libraries {
            try Output.line("\(library.name) \(library.version ?? "not built in")")
        }
        try Output.line("traits: \(Self.traits.isEmpty ? "none" : Self.traits.joined(separator: ", "))")
        try Output.line("products: \(Self.products.joined(separator: ", "))")
    }

    private static var document: JSONDocument {
        .object([
            ("version", .text(PackageVersion.current)),
            ("products", .list(products.map { .text($0) })),
            ("traits", .list(traits.map { .text($0) })),
            ("libraries", .object(libraries.map { ($0.name, $0.version.map { .text($0) } ?? .none) })),
        ])
    }
}
