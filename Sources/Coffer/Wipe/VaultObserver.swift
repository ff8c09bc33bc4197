/// A store outside of this library that keeps files of a vault open, or keys from it.
public protocol VaultObserver: AnyObject, Sendable {
    /// Closes what is open and drops every key. The keys on the disk are gone already.
    func vaultDidWipe() async
}
