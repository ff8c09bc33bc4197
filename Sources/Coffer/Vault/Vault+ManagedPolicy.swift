public import CofferBase
public import CofferVault
import SystemPackage

extension Vault {
    /// Returns the administrator's policy that this vault obeys. It was read when the vault was opened or at
    /// the last unlock; a later change takes effect at the next unlock. You can call this method while the
    /// vault is locked.
    ///
    /// - Throws: `policyInvalid` if the policy could not be read, trusted or understood.
    public func managedPolicy() throws(CofferError) -> ManagedPolicy { try core.managed.policy() }

    /// Returns whether the administrator's policy is another one than at the last unlock, or is gone.
    ///
    /// - Throws: `policyInvalid` or `wiped`.
    public func isManagedPolicyChanged() async throws(CofferError) -> Bool {
        let core = core
        return try await BlockingExecutor.run { _ throws(CofferError) in try core.isPolicyChanged() }
    }
}

extension ManagedPolicy {
    /// Returns the policy of this machine's administrator, for which no vault is necessary.
    ///
    /// - Throws: `policyInvalid` if it cannot be read, trusted or understood.
    public static func installed() throws(CofferError) -> ManagedPolicy {
        try PolicyDirectory.system.read()
    }

    /// Installs a policy file for all users of this machine, in one step, in place of a file of the same
    /// name. Only root can do so.
    ///
    /// - Parameters:
    ///   - bytes: The document, which must be valid.
    ///   - name: The file's name, which ends in `.plist` or `.json` and does not begin with a period.
    /// - Returns: The file's path.
    /// - Throws: `invalidInput` if the name or the document is invalid; `policyInvalid` if the directory
    ///   cannot be trusted; `permissionDenied`, `readOnly`, `noSpace` or `busy`.
    @discardableResult
    public static func install(_ bytes: [UInt8], named name: String) throws(CofferError) -> String {
        try PolicyDirectory.system.install(bytes, named: name).string
    }
}
