import CofferBase
import CofferCrypto
import CofferEngine

/// The message by which `ssh` tells an agent to which server a connection belongs
/// (session-bind@openssh.com).
package struct SSHSessionBinding: Sendable {
    /// The server's public key.
    let hostKey: SigningPublicKey
    /// The session's identifier, which a request to sign in to this server contains.
    let session: [UInt8]
    /// Whether the connection is forwarded to that server, and not used to sign in to it.
    let isForwarding: Bool
    private let signature: [UInt8]

    static func decode(_ bytes: Span<UInt8>, _ reader: inout SSHReader) -> SSHSessionBinding? {
        guard let key = reader.string(bytes), let session = reader.string(bytes),
            let signature = reader.string(bytes), let flag = reader.byte(bytes), flag <= 1, reader.isAtEnd,
            1...128 ~= session.count, let hostKey = SSHPublicKey.decode(bytes.extracting(key).copied())
        else { return nil }
        return SSHSessionBinding(
            hostKey: hostKey, session: bytes.extracting(session).copied(), isForwarding: flag == 1,
            signature: bytes.extracting(signature).copied())
    }

    /// Whether the server signed the session's identifier.
    func isSigned() throws(CofferError) -> Bool {
        try SSHPublicKey.isValid(signature, for: session, publicKey: hostKey)
    }
}
