import CofferBase
import CofferCrypto
import Synchronization

/// The sessions with servers to which one connection of an SSH agent is bound.
package final class SSHAgentSession: Sendable {
    /// The maximum number of sessions, one for each server on the way.
    private static let maxCount = 16

    private let bindings = Mutex<[SSHSessionBinding]>([])

    package init() {}

    /// Binds the connection to another session. Returns whether that is possible: the server has signed, and
    /// the connection was forwarded to all servers before.
    func bind(_ binding: SSHSessionBinding) throws(CofferError) -> Bool {
        guard try binding.isSigned() else { return false }
        return bindings.withLock { bindings in
            // The same message again changes nothing.
            if let same = bindings.first(where: { $0.session == binding.session }) {
                return same.hostKey == binding.hostKey && same.isForwarding == binding.isForwarding
            }
            guard bindings.count < Self.maxCount, bindings.allSatisfy(\.isForwarding) else { return false }
            bindings.append(binding)
            return true
        }
    }

    /// Whether the connection came from another machine.
    var isForwarded: Bool { bindings.withLock { $0.contains { $0.isForwarding } } }

    /// Returns whether data may be signed: on a connection that is bound for a sign-in, only the sign-in to
    /// that server.
    func allows(_ data: SSHSignedData) -> Bool {
        guard let last = bindings.withLock({ $0.last }), !last.isForwarding else { return true }
        guard case .signIn(_, let session) = data else { return false }
        return session == last.session
    }

    /// The server to which the connection is bound; `nil` if it is not.
    var hostKey: SigningPublicKey? { bindings.withLock { $0.last?.hostKey } }
}
