/// A store outside this library that keeps files of a vault open, or holds keys from it.
public protocol VaultObserver: AnyObject, Sendable {
    /// Closes open files and drops every key. The vault's keys on the disk are already erased.
    func vaultDidWipe() async
}

/// A weak reference to a store.
struct WeakObserver {
    weak var store: (any VaultObserver)?
}
