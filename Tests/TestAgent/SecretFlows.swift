import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// One use of a secret after the other, each to its end: nothing of the secret may be left in memory then.
///
/// The secret comes over standard input straight into guarded memory. Between `holding` and the next line it
/// is held, between `done` and the next line it must be gone.
enum SecretFlows {
    /// The secret of a flow, with a public input beside it: a file's path or identifier.
    final class Held: Sendable {
        let secret: SecretBytes
        let argument: String

        init(secret: consuming SecretBytes, argument: String) {
            self.secret = secret
            self.argument = argument
        }

        /// Its first 32 bytes as a key.
        func key() throws -> SymmetricKey {
            try secret.exposing { (bytes) throws(CofferError) in
                try SymmetricKey.copying(bytes.extracting(..<32))
            }
        }

        func passcode() throws -> Passcode {
            try Passcode(secret.exposing { (bytes) throws(CofferError) in try SecretBytes.copying(bytes) })
        }
    }

    static func play(_ location: VaultLocation, _ name: String, _ argument: String) async throws {
        let flows = primitives.merging(stores) { first, _ in first }
        guard let flow = flows[name] else { throw CofferError(.invalidInput, "no such flow") }
        Agent.say("ready")
        let input = try Descriptor.standardInput()
        try await use(try SecretBytes(SecretInput.line(from: input)), argument, location, flow)
        Agent.say("done")
        _ = try SecretInput.line(from: input)
    }

    private static func use(
        _ secret: consuming SecretBytes, _ argument: String, _ location: VaultLocation, _ flow: Flow
    ) async throws {
        let held = Held(secret: secret, argument: argument)
        Agent.say("holding")
        _ = try SecretInput.line(from: Descriptor.standardInput())
        try await flow(held, location)
    }

    typealias Flow = @Sendable (Held, VaultLocation) async throws -> Void

    /// A refusal that a flow is there to see.
    static func expect(
        _ code: CofferError.Code, _ body: () async throws -> Void
    ) async throws {
        do {
            try await body()
        } catch let error as CofferError where error.code == code {
            return
        }
        throw CofferError(.internalFailure, "not refused")
    }

    /// Ends the flow unless `condition` holds.
    static func require(_ condition: Bool) throws {
        guard condition else { throw CofferError(.internalFailure, "another result") }
    }
}
