// swift-tools-version:6.2
import PackageDescription

// A separate package, so that users of Coffer do not fetch swift-crypto. `bench` talks to its program if it
// has been built.
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
