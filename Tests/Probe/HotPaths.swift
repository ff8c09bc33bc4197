import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Dispatch
import Foundation
import Synchronization
import SystemPackage

/// The paths whose instructions Scripts/instructions counts: each is repeated as often as asked for, so that
/// the difference of two runs is the path alone.
enum HotPaths {
    typealias Path = @Sendable (_ times: Int) throws -> Void

    static let all: [String: Path] = [
        "documented-key": { times in
            let passcode = try SecretBytes.copying("123456")
            let uuid = "0F8FAD5B-D9CB-469F-A165-70867728950E"
            for _ in 0..<times { _ = try Insecure.DocumentedKey.key(uuid: uuid, passcode: passcode) }
        },
        "aes-gcm-seal-1KiB": { times in
            var aead = try AEAD.prepare(
                .aes256GCM, key: SymmetricKey.copying([UInt8](repeating: 1, count: 32).span))
            let plaintext = [UInt8](repeating: 2, count: 1024)
            for _ in 0..<times { _ = try aead.seal(plaintext.span) }
        },
        // Valgrind knows no SHA instructions: what is counted is the path of processors without them.
        "pbkdf2-sha256-1000-rounds": { times in
            let bytes = [UInt8](repeating: 1, count: 16)
            for _ in 0..<times {
                _ = try PBKDF2.derive(secret: bytes.span, salt: bytes.span, rounds: 1000, count: 32)
            }
        },
        "token-get": { times in try tokenGet(times) },
        "chunk-seal-64KiB": { times in try chunkSeal(times) },
    ]

    private static func tokenGet(_ times: Int) throws {
        try inHome { session, _ in
            let id = try TokenID(service: "api.example.org", account: "someone")
            try await session.tokens.put(Token(copying: "a token of usual length, about forty"), for: id)
            for _ in 0..<times {
                let count = try await session.tokens.get(id)?.token.count
                guard count != nil else { throw ProbeFailure("no token") }
            }
        }
    }

    private static func chunkSeal(_ times: Int) throws {
        try inHome { session, folder in
            let file = folder + "/file"
            try Data(repeating: 5, count: times << 16).write(to: URL(filePath: file))
            _ = try await session.files.add(contentsOf: FilePath(file))
        }
    }

    /// Runs `body` in a new home, and waits for it on this thread.
    private static func inHome(_ body: @escaping @Sendable (Vault, String) async throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.path() + "/coffer-probe-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let failure = Mutex<(any Error)?>(nil)
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            do {
                var options = VaultOptions()
                options.cost = .floor
                let session = try await Vault.create(
                    at: VaultLocation(path: FilePath(folder + "/home")), options: options, passcode: nil)
                try await body(session, folder)
                session.close()
            } catch {
                failure.withLock { $0 = error }
            }
            done.signal()
        }
        done.wait()
        if let error = failure.withLock({ $0 }) { throw error }
    }
}
