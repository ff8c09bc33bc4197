// swift-tools-version:6.2
import PackageDescription

// A package of its own, so that nobody who uses Coffer fetches swift-crypto: a program that `bench` talks to
// when it has been built.
let package = Package(
    name: "swift-crypto-peer",
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto", "4.0.0"..<"5.0.0")
    ],
    targets: [
        .executableTarget(
            name: "swift-crypto-peer",
            dependencies: [
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ])
    ]
)
