import CofferBase
import Synchronization

/// The nonces that servers asked for in proofs of the possession of a key. They are not secret.
package final class KeyProofNonces: Sendable {
    private static let maxByteCount = 1024

    /// The latest nonce of each origin.
    private let nonces = Mutex<[String: String]>([:])

    /// Creates an empty set.
    package init() {}

    /// Returns the latest nonce of a URL's server.
    func nonce(for url: HTTPSURL) -> String? { nonces.withLock { $0[url.origin] } }

    /// Keeps the nonce that a response contains. Returns whether there was one.
    func learn(from response: HTTPResponse, at url: HTTPSURL) -> Bool {
        // Several nonces are a defect of the server's that must not cost the response itself.
        let fields = response.headers.filter { $0.name.hasSameBytes(as: "dpop-nonce") }
        guard fields.count == 1, let nonce = fields.first?.value, WireText.isVisible(nonce),
            nonce.utf8.count <= Self.maxByteCount
        else { return false }
        nonces.withLock { $0[url.origin] = nonce }
        return true
    }
}
