#if SecretService
    import Coffer
    import CofferBase
    import CofferEngine
    import Foundation
    import TestSupport
    import Testing

    /// Many tokens, and long ones, in a real gnome-keyring. Tests/Faults/many_items.sh runs it with 10 000.
    @Suite("Many tokens in a real keyring", .timeLimit(.minutes(60)))
    struct ManyItemsTests {
        private static let count =
            ProcessInfo.processInfo.environment["COFFER_MANY_ITEMS"].flatMap { Int($0) } ?? 200

        private static func value(_ number: Int) -> [UInt8] { Array("value\n\(number)\\".utf8) + [0, 0xff] }

        private static func id(_ number: Int) throws -> TokenID {
            try TokenID(service: "service \(number)", account: "a")
        }

        @Test(
            "Every token is there after a restart of the keyring",
            arguments: [PrivateKeyring.Collection.encrypted, .plainText])
        func everyOneIsThereAfterARestart(_ collection: PrivateKeyring.Collection) async throws {
            let service = try #require(try PrivateKeyring(collection))
            let scratch = try TestHome()
            let location = VaultLocation(path: scratch.location.path, sessionBus: service.address)
            let session = try await Vault.create(
                at: location, options: TestHome.options { $0.keyring = .secretService }, passcode: nil)
            // A collection without a password is unlocked after its first use.
            let other = try service.add(["application": "mail"], [1])
            let long = (0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            let sizes = [0, 64 << 10, 1 << 20]
            for (number, size) in sizes.enumerated() {
                try await session.tokens.put(Token(copying: Array(long[..<size])), for: Self.id(-1 - number))
            }
            for number in 0..<Self.count {
                try await session.tokens.put(Token(copying: Self.value(number)), for: Self.id(number))
            }
            try service.restart()
            let later = try await Vault(at: location)
            try await later.unlock()
            #expect(try await later.tokens.count() == Self.count + sizes.count)
            #expect(try await later.tokens.list().count == Self.count + sizes.count)
            for (number, size) in sizes.enumerated() {
                #expect(try await Self.read(-1 - number, in: later) == Array(long[..<size]))
            }
            let step = max(1, Self.count / 100)
            for number in stride(from: 0, to: Self.count, by: step) {
                #expect(try await Self.read(number, in: later) == Self.value(number), "\(number)")
            }
            #expect(try await later.tokens.remove(Self.id(0)))
            #expect(try await Self.read(0, in: later) == nil)
            #expect(try service.secret(other) == [1])
        }

        private static func read(_ number: Int, in session: Vault) async throws -> [UInt8]? {
            try await session.tokens.withToken(for: id(number)) { token, _ in token.exposing { $0.copied() } }
        }
    }
#endif
