package import CofferBase
import CofferCrypto
import CofferEngine
import Synchronization

/// An SSH agent whose keys are the key pairs of a vault that may be used for SSH, and the keys that clients
/// added, which it keeps in memory.
///
/// The vault is opened for each request, so that a lock, a wipe and a change by another process apply at
/// once. The agent never gives a private key to anyone, removes none from the vault, and makes no signature
/// with SHA-1.
package final class SSHAgent: Sendable {
    /// Opens the vault; with `true`, unlocks it without asking anyone, if that is possible.
    private let openVault: @Sendable (_ unlocking: Bool) async throws(CofferError) -> Vault
    /// Asks a person a question that is answered with yes or no.
    private let confirm: @Sendable (String) -> Bool
    /// Receives the reason for each refusal, which the protocol cannot carry.
    private let report: @Sendable (CofferError) -> Void
    private let added = SSHVolatileKeys()
    private let lockState = Mutex(LockState())

    private struct LockState {
        var passphrase: SSHPassphrase?
        var failures = 0
    }

    /// Creates an agent.
    ///
    /// - Parameters:
    ///   - openVault: A closure that opens the vault and, if its argument is `true`, unlocks it as far as
    ///     possible without asking for a passcode.
    ///   - confirm: A closure that asks a person a question and returns whether the answer is yes.
    ///   - report: A closure that receives the reason for each refusal.
    package init(
        openVault: @escaping @Sendable (_ unlocking: Bool) async throws(CofferError) -> Vault,
        confirm: @escaping @Sendable (String) -> Bool, report: @escaping @Sendable (CofferError) -> Void
    ) {
        self.openVault = openVault
        // One question at a time, so that nobody answers one of many by mistake.
        let asking = Mutex(())
        self.confirm = { question in asking.withLock { _ in confirm(question) } }
        self.report = report
    }

    /// The answers without content.
    private enum Answer {
        static let failure: [UInt8] = [5]
        static let success: [UInt8] = [6]
        static let extensionFailure: [UInt8] = [28]
    }

    /// Clears the added keys whose time has ended.
    package func removeExpired() { _ = added.all() }

    /// Clears all added keys.
    package func removeAdded() { added.removeAll() }

    /// Returns the answer to a request, without its length.
    package func answer(_ request: SSHAgentRequest, in session: SSHAgentSession) async -> [UInt8] {
        do throws(CofferError) {
            if lockState.withLock({ $0.passphrase != nil }) { return await answerLocked(request) }
            switch request {
            case .identities: return try await identities()
            case .sign(let key, let data, let flags): return try await sign(key, data, flags, session)
            case .add(let key):
                guard added.add(key) else { throw Self.refusal("It has too many keys.") }
                return Answer.success
            case .remove(let key): return try await remove(key)
            case .removeAll:
                added.removeAll()
                return Answer.success
            case .lock(let passphrase):
                lockState.withLock { $0.passphrase = passphrase }
                return Answer.success
            case .unlock: return Answer.failure
            case .bind(let binding):
                guard try session.bind(binding) else {
                    report(Self.refusal("The signature or the order of a server's session is wrong."))
                    return Answer.extensionFailure
                }
                return Answer.success
            case .unsupported: return Answer.failure
            }
        } catch {
            report(error)
            return Answer.failure
        }
    }

    // MARK: The agent's own lock

    /// Answers while the agent itself is locked with a passphrase: it shows no keys and does nothing else.
    private func answerLocked(_ request: SSHAgentRequest) async -> [UInt8] {
        switch request {
        case .identities: return Self.list([])
        case .unlock(let passphrase):
            let failures = lockState.withLock { state -> Int? in
                guard state.passphrase.map({ $0.isSame(as: passphrase) }) ?? false else {
                    state.failures = min(state.failures + 1, 100)
                    return state.failures
                }
                state = LockState()
                return nil
            }
            guard let failures else { return Answer.success }
            // Guessing becomes slower, as with OpenSSH's agent.
            try? await Task.sleep(for: .milliseconds(100 * failures))
            return Answer.failure
        default:
            report(Self.refusal("It is locked with a passphrase. Unlock it with ssh-add -X."))
            return Answer.failure
        }
    }

    // MARK: Listing

    private func identities() async throws(CofferError) -> [UInt8] {
        let volatile = added.all()
        var keys = volatile.map { ($0.publicKey, $0.comment) }
        do throws(CofferError) {
            let all = try await openVault(false).keyPairs.list(includingRotations: true)
            let pairs = all.filter { $0.uses.contains(.ssh) && $0.role != .next }
            // Servers allow few tries, so the keys that rotations replaced come last.
            let ordered = pairs.filter { $0.role == .current } + pairs.filter { $0.role == .former }
            for pair in ordered where !keys.contains(where: { $0.0 == pair.publicKey }) {
                keys.append((pair.publicKey, pair.agentComment))
            }
        } catch {
            // The keys that clients added do not depend on the vault.
            guard !keys.isEmpty else { throw error }
            report(error)
        }
        return Self.list(keys)
    }

    private static func list(_ keys: [(SigningPublicKey, String)]) -> [UInt8] {
        var writer = SSHWriter()
        writer.append(byte: 12)
        writer.append(number: UInt32(keys.count))
        for (key, comment) in keys {
            writer.append(string: SSHPublicKey.encode(key))
            writer.append(text: comment)
        }
        return writer.bytes
    }

    // MARK: Signing

    private func sign(
        _ blob: [UInt8], _ data: [UInt8], _ flags: UInt32, _ session: SSHAgentSession
    ) async throws(CofferError) -> [UInt8] {
        guard let key = SSHPublicKey.decode(blob) else {
            throw Self.refusal("It does not have the key that was asked for.")
        }
        guard let scheme = SSHPublicKey.scheme(of: key, flags: flags) else {
            throw Self.refusal("Signatures with SHA-1 are not made. Use a newer SSH client or server.")
        }
        let meaning = SSHSignedData(data)
        guard session.allows(meaning) else {
            throw Self.refusal("The data to sign is not for the server of this connection.")
        }
        let signature: [UInt8]
        if let own = added.key(key) {
            if own.confirmsEachUse {
                let (text, confirm) = (question(own.comment, meaning, session), confirm)
                let isConfirmed = try await BlockingExecutor.run { _ throws(CofferError) in confirm(text) }
                guard isConfirmed else { throw Self.refusal("The use of the key was not confirmed.") }
            }
            signature = try own.held.key.sign(data.span, scheme: scheme)
        } else {
            signature = try await signInVault(key, data, scheme) { [self] pair in
                confirm(question(pair.alias, meaning, session))
            }
        }
        var writer = SSHWriter()
        writer.append(byte: 14)
        writer.append(
            string: SSHPublicKey.encode(signature: signature, scheme: scheme, of: key.algorithm))
        return writer.bytes
    }

    private func signInVault(
        _ key: SigningPublicKey, _ data: [UInt8], _ scheme: SigningScheme,
        confirm: @escaping @Sendable (KeyPair) -> Bool
    ) async throws(CofferError) -> [UInt8] {
        let vault = try await openVault(true)
        let signature = try await vault.keyPairs.sign(
            data, withKey: key, for: .ssh, scheme: scheme, confirm: confirm)
        guard let signature else { throw Self.refusal("It does not have the key that was asked for.") }
        return signature
    }

    private func question(
        _ name: String, _ meaning: SSHSignedData, _ session: SSHAgentSession
    ) -> String {
        let host = session.hostKey.flatMap { try? SSHPublicKey.fingerprint($0) }
        return "Allow use of the key \(name.inQuestion) \(meaning.purpose)?"
            + (host.map { "\nHost key: \($0)" } ?? "")
            + (session.isForwarded ? "\nThe request comes from another machine." : "")
    }

    // MARK: Removing

    private func remove(_ blob: [UInt8]) async throws(CofferError) -> [UInt8] {
        guard let key = SSHPublicKey.decode(blob) else { return Answer.failure }
        if added.remove(key) { return Answer.success }
        let pairs = try await openVault(false).keyPairs.list(includingRotations: true)
        guard pairs.contains(where: { $0.publicKey == key }) else { return Answer.failure }
        throw Self.refusal("It removes no keys from the vault. Remove them from the vault itself.")
    }

    private static func refusal(_ reason: String) -> CofferError {
        CofferError(.refused, "The SSH agent refused a request. \(reason)")
    }
}

extension KeyPair {
    /// The comment that clients see.
    fileprivate var agentComment: String { role == .former ? "\(alias) (generation \(generation))" : alias }
}
