// swift-tools-version: 6.2
import PackageDescription

// GRDB's own tests over encrypted databases: `Scripts/grdb-suite` copies this file and fills the folder
// Tests.
let package = Package(
    name: "grdb-suite",
    dependencies: [
        .package(name: "coffer", path: "../..", traits: []),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    ],
    targets: [
        .testTarget(
            name: "GRDBTests",
            dependencies: [
                .product(name: "CofferCrypto", package: "coffer"),
                .product(name: "CofferDatabase", package: "coffer"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            path: "Tests",
            exclude: ["getThreadsCount.c"],
            resources: [
                .copy("Betty.jpeg"), .copy("InflectionsTests.json"), .copy("Issue1383.sqlite"),
                .copy("db.SQLCipher3"),
            ],
            // As in GRDB's own manifest.
            swiftSettings: [
                .define("SQLITE_ENABLE_FTS5"), .define("SQLITE_ENABLE_SNAPSHOT"),
                .define("SQLITE_DISABLE_SNAPSHOT", .when(platforms: [.linux])),
                .swiftLanguageMode(.v5), .enableUpcomingFeature("InferSendableFromCaptures"),
                .enableUpcomingFeature("GlobalActorIsolatedTypesUsability"),
            ])
    ]
)
