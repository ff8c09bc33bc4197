/// A store outside this library that keeps a vault's files open or holds keys from the vault.
public protocol VaultObserver: AnyObject, Sendable {
    /// Closes open files and drops every key. The vault calls this method after it has erased its keys on
    /// disk.
    func vaultDidWipe() async
}

/// A weak reference to a store.
struct WeakObserver {
    weak var store: (any VaultObserver)?
}
