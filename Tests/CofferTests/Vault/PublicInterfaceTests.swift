import Coffer
import CofferBase
import CofferEngine
import Foundation
import SystemPackage
import Testing
import TestSupport

/// The library from the point of view of an app that imports it.
@Suite("The library as an app imports it")
struct PublicInterfaceTests {
    /// An error of an app.
    private struct AppError: Error, Equatable {
        let number: Int
    }

    /// The types that swift-crypto's `Crypto` has and `CofferCrypto` has too.
    private static let crypto = """
        public struct SymmetricKey { public init() {} }
        public struct HMAC<H> {}
        public struct HKDF<H> {}
        public protocol Digest {}
        public enum Insecure {}
        """

    @Test("A file that imports Coffer and swift-crypto's names compiles")
    func beside() throws {
        let text = """
            import Coffer
            import Crypto

            func use(_ id: TokenID, _ error: CofferError, _ secret: borrowing SecretBytes) -> SymmetricKey {
                SymmetricKey()
            }
            func use(_ schemes: Insecure.Type) {}
            func use<H>(_ mac: HMAC<H>, _ kdf: HKDF<H>, _ digest: any Digest, _ class: ProtectionClass) {}
            """
        let run = try TypeCheck.run(text, beside: ("Crypto", Self.crypto))
        #expect(run.code == 0, "\(run.errorText)")
        let both = try TypeCheck.run("import CofferCrypto\n" + text, beside: ("Crypto", Self.crypto))
        #expect(both.code != 0 && both.errorText.contains("ambiguous"), "\(both.errorText)")
    }

    @Test("An error of the caller's own passes through every closure, and CofferError stays what it is")
    func ownErrors() async throws {
        let home = try TestHome()
        let session = try await home.create()
        let id = try TokenID(service: "s", account: "a")
        try await session.tokens.put(Token(copying: "value"), for: id)
        try home.scratch.write("file", [UInt8](repeating: 7, count: 3_000_000))
        let file = try await session.files.add(contentsOf: home.scratch.path.appending("file"))
        let error = AppError(number: 7)
        await #expect(throws: error) { try await session.tokens.withToken(for: id) { _, _ in throw error } }
        await #expect(throws: error) { try await session.files.readChunks(of: file) { _ in throw error } }
        await #expect(throws: error) {
            try await session.files.withDecryptedBytes(of: file) { _ in throw error }
        }
        await #expect(throws: error) { try await session.tokens.refresh(id) { _, _ in throw error } }
        try await session.documentedSecrets.createUUID("app")
        await #expect(throws: error) {
            try await session.documentedSecrets.withUUID("app") { _ -> Void in throw error }
        }
        let late = await refusal {
            _ = try await session.tokens.refresh(id, deadline: .milliseconds(100)) { _, _ in
                try await Task.sleep(for: .seconds(1000))
                throw error
            }
        }
        #expect(late?.code == .timedOut)
        let cancelled = Task {
            await refusal {
                _ = try await session.tokens.refresh(id) { _, _ in
                    try await Task.sleep(for: .seconds(1000))
                    throw error
                }
            }
        }
        cancelled.cancel()
        #expect(await cancelled.value?.code == .cancelled)
        let refused = CofferError(.refused, "The server refuses.")
        #expect(
            await refusal { _ = try await session.tokens.refresh(id) { _, _ in throw refused } }?.code
                == .refused)
        #expect(
            await refusal { try await session.files.readChunks(of: file) { _ in throw refused } }?.code
                == .refused)
        #expect(try await session.tokens.get(id)?.info.version == 1)
    }

    @Test("A poll may fail with an error of the caller's own; it becomes a CofferError")
    func pollErrors() async throws {
        let failing = PollingRevocationSource { throw AppError(number: 7) }
        #expect(await refusal { _ = try await failing.poll() }?.code == .inputOutput)
        let cancelled = PollingRevocationSource { throw CancellationError() }
        #expect(await refusal { _ = try await cancelled.poll() }?.code == .cancelled)
        let refused = PollingRevocationSource { throw CofferError(.refused, "The server refuses.") }
        #expect(await refusal { _ = try await refused.poll() }?.code == .refused)
    }

    @Test("A token leaves as text or as bytes; bytes that are not UTF-8 never leave as text")
    func copies() throws {
        let token = try Token(copying: "grüße")
        #expect(token.exposingString { $0 + "!" } == "grüße!")
        #expect(token.copyBytes() == Array("grüße".utf8))
        let bytes: [UInt8] = [0x61, 0xC3, 0x28]
        #expect(try Token(copying: bytes).copyBytes() == bytes)
        #expect(try Token(copying: bytes).exposingString { _ in Issue.record("called") } == nil)
        #expect(try Token(copying: "").exposingString { $0 } == "")
    }

    @Test("A condition is met by exactly the versions that it names")
    func preconditions() async throws {
        let home = try TestHome()
        defer { extendLifetime(home) }
        let session = try await home.create()
        let id = try TokenID(service: "s", account: "a")
        func put(_ precondition: Precondition) async throws -> PutResult {
            try await session.tokens.put(Token(copying: "x"), for: id, precondition: precondition)
        }
        #expect(await refusal { _ = try await put(.version(0)) }?.code == .conflict)
        #expect(try await put(.absent) == .stored(version: 1))
        #expect(await refusal { _ = try await put(.absent) }?.currentVersion == 1)
        #expect(await refusal { _ = try await put(.version(0)) }?.currentVersion == 1)
        #expect(try await put(.version(1)).version == 2)
        #expect(try await put(.any).version == 3)
        try await session.tokens.remove(id)
        let gone = await refusal { _ = try await put(.version(3)) }
        #expect(gone?.code == .conflict && gone?.currentVersion == nil)
    }
}
