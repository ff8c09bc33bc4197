import CofferCrypto

/// A passphrase that locks an agent.
package final class SSHPassphrase: Sendable {
    let secret: SecretBytes

    init(_ secret: consuming SecretBytes) { self.secret = secret }

    func isSame(as other: SSHPassphrase) -> Bool { secret.isEqual(to: other.secret) }
}
