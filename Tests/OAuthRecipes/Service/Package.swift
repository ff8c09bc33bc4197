// swift-tools-version: 6.2
import PackageDescription

// The service of the article on recipes for OAuth. A separate package, so that users of Coffer do not fetch
// async-http-client: Scripts/oauth-recipes builds and runs it.
let package = Package(
    name: "hello-service",
    dependencies: [
        .package(name: "coffer", path: "../../..", traits: ["OAuth"]),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.81.0"),
    ],
    targets: [
        .executableTarget(
            name: "hello-service",
            dependencies: [
                .product(name: "Coffer", package: "coffer"),
                .product(name: "CofferOAuth", package: "coffer"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
            ])
    ]
)
