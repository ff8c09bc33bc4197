/// The owner of a private key that several threads use. The key's memory is cleared when the owner is
/// released.
package final class HeldPrivateKey: Sendable {
    package let key: SigningPrivateKey

    package init(_ key: consuming SigningPrivateKey) { self.key = key }
}
