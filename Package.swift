// swift-tools-version: 6.2
import PackageDescription

/// The settings of every Swift target, written once.
let shared: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableExperimentalFeature("Lifetimes"),
]

/// Programs bind every symbol at their start: binding at the first call leaves registers on the stack. The
/// linker that comes with Swift makes their tables of addresses read-only. By default Swift takes gold and,
/// where that is not installed, as on Debian 13, GNU ld, which puts Swift's writable .rodata before all data
/// and makes nothing read-only. Only programs, which no other package depends on, may have such flags.
let immediateBinding: [LinkerSetting] = [
    .unsafeFlags(["-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "now"])
]

/// The exports of the library for C: the functions of coffer.h alone. It is never unloaded, because its
/// threads cannot be stopped. No other target depends on it.
let exportedNames: [LinkerSetting] = [
    // Swift's own linker: gold exports Swift's protected symbols all the same.
    .unsafeFlags(["-use-ld=lld"]),
    .unsafeFlags(
        [
            "-soname", "libcoffer.so.0", "-z", "nodelete", "-z", "now",
            "--version-script=\(Context.packageDirectory)/Sources/CofferC/coffer.map",
        ].flatMap { ["-Xlinker", $0] }),
]

let package = Package(
    name: "coffer",
    products: [
        .library(name: "Coffer", targets: ["Coffer"]),
        .library(name: "CofferDatabase", targets: ["CofferDatabase"]),
        .library(name: "CofferBackup", targets: ["CofferBackup"]),
        .library(name: "CofferOAuth", targets: ["CofferOAuth"]),
        .library(name: "CofferCrypto", targets: ["CofferCrypto"]),
        .library(name: "CofferTesting", targets: ["CofferTesting"]),
        // libcoffer for C, by another name: a product coffer is there already.
        .library(name: "coffer-c", type: .dynamic, targets: ["CofferC"]),
        .executable(name: "coffer", targets: ["CofferCLI"]),
        .executable(name: "coffer-oauth", targets: ["CofferOAuthCLI"]),
        .executable(name: "coffer-database", targets: ["CofferDatabaseCLI"]),
        .executable(name: "coffer-pkcs11", targets: ["CofferPKCS11CLI"]),
        .executable(name: "bench", targets: ["Bench"]),
    ],
    traits: [
        .trait(
            name: "SecretService", description: "Speak to the desktop's keyring (links GLib)."),
        .trait(name: "OAuth", description: "Speak to servers over HTTPS (links libcurl and libssl)."),
        .default(enabledTraits: ["SecretService", "OAuth"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        // Cellar: module maps, no logic.
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        // GLib without pkg-config, whose flags SwiftPM warns of in every dependent package: see its shim.h.
        .systemLibrary(name: "CGIO"),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        // libcurl, and of libssl what libcurl lets a program set; without pkg-config, because SwiftPM warns
        // of the flags of Debian 13's.
        .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev", "libssl-dev"])]),
        // PKCS #11 without p11-kit's headers: see its shim.h.
        .systemLibrary(name: "CPKCS11"),
        .systemLibrary(name: "CLinux"),
        // SHA-256 by the processor's instructions: C, because Swift has no function attribute for them.
        .target(name: "CSHA2", publicHeadersPath: "."),
        // The arguments of main without /proc: C, because Swift has no attribute for a section.
        .target(name: "CArguments", publicHeadersPath: "."),
        // SQLite's page cache, wrapped: C, because it is installed before main and on the path of every page.
        .target(name: "CPageCache", dependencies: ["CSQLite"], publicHeadersPath: "."),
        // The heap of libcurl: C, because libcurl is initialised with C functions.
        .target(name: "CLockedHeap", publicHeadersPath: "."),

        // Shared by every layer: the error type, text as bytes, hexadecimal text, and JSON.
        .target(name: "CofferBase", swiftSettings: shared),

        // Floor 0: the unsafe room.
        .target(
            name: "CofferEngine",
            dependencies: [
                "CofferBase", "COpenSSL", "CSodium", "CLinux", "CSHA2", "CArguments",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: shared),

        // Its annexes: the message bus and HTTPS, the only targets that the traits change, PKCS #11, which
        // only coffer-pkcs11 needs, and SQLite, which only CofferDatabase needs.
        .target(
            name: "CofferDBus",
            dependencies: [
                "CofferBase", "CofferEngine",
                .target(name: "CGIO", condition: .when(traits: ["SecretService"])),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: shared),
        .target(
            name: "CofferEngineHTTP",
            dependencies: [
                "CofferBase", "CofferEngine", "CLockedHeap",
                .target(name: "CCurl", condition: .when(traits: ["OAuth"])),
            ],
            swiftSettings: shared),
        .target(
            name: "CofferEnginePKCS11", dependencies: ["CofferBase", "CofferEngine", "CPKCS11"],
            swiftSettings: shared),
        .target(
            name: "CofferEngineSQLite",
            dependencies: [
                "CofferBase", "CofferEngine", "COpenSSL", "CPageCache", "CSQLite",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: shared),

        // Floor 1: cryptography in safe Swift.
        .target(name: "CofferCrypto", dependencies: ["CofferBase", "CofferEngine"], swiftSettings: shared),

        // Floor 2: the vault on disk, without an open vault: no actor, nothing asynchronous.
        .target(
            name: "CofferVault",
            dependencies: [
                "CofferBase", "CofferCrypto", "CofferDBus", "CofferEngine",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: shared),

        // Floor 3: open vaults and their stores.
        .target(
            name: "Coffer",
            dependencies: [
                "CofferBase", "CofferCrypto", "CofferDBus", "CofferEngine", "CofferVault",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: shared),
        .target(
            name: "CofferDatabase",
            dependencies: [
                "Coffer", "CofferBase", "CofferCrypto", "CofferEngine", "CofferEngineSQLite",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: shared),
        // Backups of whole vaults, above everything that a vault contains.
        .target(
            name: "CofferBackup",
            dependencies: [
                "Coffer", "CofferBase", "CofferCrypto", "CofferDatabase", "CofferEngine",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: shared),
        // The only library with network code.
        .target(
            name: "CofferOAuth",
            dependencies: [
                "Coffer", "CofferBase", "CofferCrypto", "CofferEngine", "CofferEngineHTTP",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: shared),
        // The Secret Service on the vault's tokens, for `coffer serve`.
        .target(
            name: "CofferService",
            dependencies: [
                "Coffer", "CofferBase", "CofferCrypto", "CofferDBus", "CofferEngine", "CofferVault",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: shared),
        // The interface for C: it checks what comes from C, and has no logic of its own.
        .systemLibrary(name: "CCoffer"),
        .target(
            name: "CofferC",
            dependencies: [
                "CCoffer", "Coffer", "CofferBase", "CofferCrypto", "CofferEngine", "CofferVault",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            exclude: ["coffer.map", "coffer.pc"], swiftSettings: shared, linkerSettings: exportedNames),
        // The runner of test vectors, for the command and the tests.
        .target(
            name: "CofferVectors",
            dependencies: ["Coffer", "CofferBase", "CofferCrypto", "CofferEngine", "CofferVault"],
            swiftSettings: shared),
        .target(
            name: "CofferTesting",
            dependencies: [
                "Coffer", "CofferBase", "CofferCrypto", "CofferDBus", "CofferEngine", "CofferOAuth",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            resources: [
                .embedInCode("Resources/fake_secret_service.py"),
                .embedInCode("Resources/scripted_server.py"),
            ], swiftSettings: shared),

        // Floor 4: what people run, and what the commands share.
        .target(
            name: "CofferCommandLine",
            dependencies: [
                "Coffer", "CofferBase", "CofferCrypto", "CofferEngine",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: shared),
        .executableTarget(
            name: "CofferCLI",
            dependencies: [
                "Coffer", "CofferBase", "CofferCommandLine", "CofferCrypto", "CofferDBus", "CofferEngine",
                "CofferService", "CofferVectors",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: shared, linkerSettings: immediateBinding),
        // The commands of `coffer oauth`, which coffer runs: what links libcurl is not loaded with it.
        .executableTarget(
            name: "CofferOAuthCLI",
            dependencies: [
                "Coffer", "CofferBase", "CofferCommandLine", "CofferCrypto", "CofferEngine", "CofferOAuth",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: shared, linkerSettings: immediateBinding),
        // The commands that open databases, which coffer runs: SQLite, and Foundation, which GRDB uses, are
        // not loaded with it.
        .executableTarget(
            name: "CofferDatabaseCLI",
            dependencies: [
                "Coffer", "CofferBackup", "CofferBase", "CofferCommandLine", "CofferCrypto",
                "CofferDatabase", "CofferEngine",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: shared, linkerSettings: immediateBinding),
        // The module of PKCS #11, which coffer runs for p11-kit: what it needs is not loaded with coffer.
        .executableTarget(
            name: "CofferPKCS11CLI",
            dependencies: [
                "Coffer", "CofferBase", "CofferCommandLine", "CofferCrypto", "CofferEngine",
                "CofferEnginePKCS11",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: shared, linkerSettings: immediateBinding),
        .executableTarget(
            name: "Bench",
            dependencies: [
                "BenchPeers", "BenchReport", "Coffer", "CofferBackup", "CofferBase", "CofferCrypto",
                "CofferDatabase", "CofferEngine", "CofferOAuth", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            path: "Benchmarks/Bench",
            swiftSettings: shared),
        // The report of bench without its measurements, so that tests reach it.
        .target(name: "BenchReport", path: "Benchmarks/Report", swiftSettings: shared),
        // libsecret, which only a peer of bench needs.
        .systemLibrary(
            name: "CSecretService", pkgConfig: "libsecret-1", providers: [.apt(["libsecret-1-dev"])]),
        // The peers that bench measures against: raw calls of the C libraries, outside every product's
        // library.
        .target(
            name: "BenchPeers",
            dependencies: [
                "CofferBase", "COpenSSL", "CSodium",
                .target(name: "CSecretService", condition: .when(traits: ["SecretService"])),
            ],
            path: "Benchmarks/Peers", swiftSettings: shared),

        // Tests mirror Sources.
        .target(
            name: "TestSupport",
            dependencies: [
                "CofferBase", "CofferDBus", "CofferEngine",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            path: "Tests/Support", swiftSettings: shared),
        // A second process for tests of what several processes do, and of what is left in one's memory.
        .executableTarget(
            name: "TestAgent",
            dependencies: [
                "Coffer", "CofferEngine", .product(name: "SystemPackage", package: "swift-system"),
            ],
            path: "Tests/TestAgent", swiftSettings: shared, linkerSettings: immediateBinding),
        // What valgrind looks at: secrets held for undefined, and hot paths whose instructions are counted.
        .systemLibrary(name: "CValgrind", path: "Tests/Valgrind"),
        .executableTarget(
            name: "Probe",
            dependencies: [
                "Coffer", "CofferBase", "CofferCrypto", "CofferDatabase", "CofferEngine", "CValgrind",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            path: "Tests/Probe", exclude: ["expected.json", "instructions.json"], swiftSettings: shared,
            linkerSettings: immediateBinding),
        // A second process for tests of databases: killed while it writes and reads.
        .executableTarget(
            name: "DatabaseAgent",
            dependencies: [
                "Coffer", "CofferBase", "CofferCrypto", "CofferDatabase", "CofferEngine",
                "CofferEngineSQLite",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            path: "Tests/DatabaseAgent", swiftSettings: shared, linkerSettings: immediateBinding),
        // A second process for tests of sessions: it renews tokens, and writes down each request.
        .executableTarget(
            name: "OAuthAgent",
            dependencies: [
                "Coffer", "CofferBase", "CofferCrypto", "CofferEngine", "CofferOAuth",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            path: "Tests/OAuthAgent", swiftSettings: shared, linkerSettings: immediateBinding),
        .testTarget(name: "HouseRules", dependencies: ["TestSupport"], swiftSettings: shared),
        .testTarget(
            name: "BenchReportTests", dependencies: ["BenchReport", "TestSupport"], swiftSettings: shared),
        .testTarget(
            name: "CofferEngineTests",
            dependencies: [
                "CofferBase", "CofferEngine", "TestSupport",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: shared),
        .testTarget(
            name: "CofferCryptoTests",
            dependencies: [
                "CofferBase", "CofferCrypto", "CofferEngine", "TestSupport",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: shared),
        .testTarget(
            name: "CofferVectorsTests",
            dependencies: ["CofferBase", "CofferCrypto", "CofferVectors", "TestSupport"],
            swiftSettings: shared),
        .testTarget(
            name: "CofferVaultTests",
            dependencies: [
                "CofferBase", "CofferCrypto", "CofferEngine", "CofferVault", "TestSupport",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: shared),
        .testTarget(
            name: "CofferTests",
            dependencies: [
                "Coffer", "CofferBase", "CofferCrypto", "CofferDBus", "CofferEngine", "CofferTesting",
                "TestAgent", "TestSupport",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: shared),
        .testTarget(
            name: "CofferCTests", dependencies: ["TestSupport"], swiftSettings: shared),
        .testTarget(
            name: "CofferServiceTests",
            dependencies: [
                "Coffer", "CofferBase", "CofferCrypto", "CofferDBus", "CofferEngine", "CofferService",
                "CofferTesting", "TestSupport",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: shared),
        .testTarget(
            name: "CofferDatabaseTests",
            dependencies: [
                "CofferDatabase", "Coffer", "CofferBase", "CofferCrypto", "CofferEngine",
                "CofferEngineSQLite", "CofferTesting", "DatabaseAgent", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: shared),
        .testTarget(
            name: "CofferBackupTests",
            dependencies: [
                "CofferBackup", "Coffer", "CofferBase", "CofferCrypto", "CofferDatabase", "CofferEngine",
                "CofferTesting", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: shared),
        .testTarget(
            name: "CofferOAuthTests",
            dependencies: [
                "Coffer", "CofferBase", "CofferCrypto", "CofferEngine", "CofferEngineHTTP", "CofferOAuth",
                "CofferTesting", "OAuthAgent", "TestSupport",
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: shared),
        .testTarget(
            name: "CofferCLITests",
            dependencies: [
                "Coffer", "CofferBase", "CofferCLI", "CofferCommandLine", "CofferDatabaseCLI",
                "CofferEngine", "CofferOAuth", "CofferOAuthCLI", "CofferPKCS11CLI", "CofferTesting",
                "TestSupport",
            ],
            swiftSettings: shared),
    ]
)

// The fuzz targets: a program for libFuzzer where Scripts/fuzz builds them, tests that replay the kept inputs
// everywhere else.
let fuzzed: [Target.Dependency] = [
    "Coffer", "CofferBackup", "CofferBase", "CofferCrypto", "CofferEngine", "CofferEngineSQLite",
    "CofferOAuth", "CofferVault", "CofferVectors", "TestSupport",
    .product(name: "SystemPackage", package: "swift-system"),
]
if Context.environment["COFFER_FUZZ"] != nil {
    package.targets += [
        .systemLibrary(name: "CFuzzer", path: "Tests/Fuzz/CFuzzer"),
        .executableTarget(
            name: "Fuzz", dependencies: fuzzed + ["CFuzzer"], path: "Tests/Fuzz",
            exclude: ["CFuzzer", "Corpus", "ReplayTests.swift"], swiftSettings: shared),
    ]
} else {
    package.targets.append(
        .testTarget(
            name: "FuzzTests", dependencies: fuzzed, path: "Tests/Fuzz",
            exclude: ["CFuzzer", "Corpus", "main.swift"], swiftSettings: shared))
}

// What Scripts/test builds without the default traits: only the tests that meet a trait, and what they need.
if Context.environment["COFFER_TRAIT_TESTS"] != nil {
    let others: Set<String> = [
        "Bench", "BenchReport", "BenchPeers", "BenchReportTests", "CofferCryptoTests", "CofferDatabaseTests",
        "CofferVaultTests", "CofferVectorsTests", "DatabaseAgent", "FuzzTests", "HouseRules", "Probe",
    ]
    package.products.removeAll { $0.name == "bench" }
    package.targets.removeAll { others.contains($0.name) }
}

// Only the named test targets, to try a change soon: COFFER_TESTS="CofferVaultTests HouseRules".
if let named = Context.environment["COFFER_TESTS"] {
    let names = Set(named.split(separator: " ").map(String.init)), programs: Set = ["Bench", "Probe"]
    package.products.removeAll { $0.name == "bench" }
    package.targets.removeAll { programs.contains($0.name) || ($0.isTest && !names.contains($0.name)) }
}

// How Scripts/build-release links the programs: with the linker that comes with Swift, which packs
// relocations; with the static libraries in the folder that the variable names, where there is a shared one,
// too; without symbols.
if let folder = Context.environment["COFFER_RELEASE"] {
    let words = ["-z", "pack-relative-relocs", "--gc-sections", "--strip-all"].flatMap { ["-Xlinker", $0] }
    for target in package.targets
    where ["CofferCLI", "CofferOAuthCLI", "CofferDatabaseCLI", "CofferPKCS11CLI"].contains(target.name) {
        target.linkerSettings = immediateBinding + [.unsafeFlags(["-L\(folder)"] + words)]
    }
    for target in package.targets where target.name == "CofferC" {
        // SwiftPM passes the option for Swift's static libraries to programs alone.
        target.linkerSettings = exportedNames + [.unsafeFlags(["-static-stdlib", "-L\(folder)"] + words)]
    }
}

// What Scripts/sqlite-suite loads into SQLite's own test program.
if Context.environment["COFFER_SQLITE_SUITE"] != nil {
    package.products.append(.library(name: "SQLiteFixture", type: .dynamic, targets: ["SQLiteFixture"]))
    package.targets.append(
        .target(
            name: "SQLiteFixture", dependencies: ["CofferEngine", "CofferEngineSQLite"],
            path: "Tests/SQLite/Fixture", swiftSettings: shared))
}
