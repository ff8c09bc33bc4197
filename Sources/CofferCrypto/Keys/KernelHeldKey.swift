public import CofferBase
import CofferEngine

/// Keys lent to the kernel's user keyring, so that the next process of the same user finds them until a
/// timeout.
///
/// What it protects against is time, not the user's other programs: every process of the same user can read
/// it. Where the kernel keyring is missing or forbidden (many containers), calls throw `unsupported` or
/// `permissionDenied`.
public enum KernelHeldKey {
    /// Lends `key` to the kernel under `name`.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - name: What it is found by.
    ///   - timeout: Seconds until the kernel drops it; `nil` until reboot.
    /// - Throws: `unsupported`, `permissionDenied` or `noSpace`.
    public static func store(_ key: borrowing SymmetricKey, name: String, timeout: Int?) throws(CofferError) {
        try KernelKeyring.store(key.secret, description: name, timeout: timeout)
    }

    /// The key held under `name`; `nil` when there is none or its time is over.
    ///
    /// - Throws: `unsupported` or `permissionDenied`.
    public static func read(name: String) throws(CofferError) -> SymmetricKey? {
        guard let secret = try KernelKeyring.read(name) else { return nil }
        return SymmetricKey(secret)
    }
}
