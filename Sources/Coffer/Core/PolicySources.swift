import CofferBase
import CofferVault

/// The sources of the policy that a vault obeys: the files of the machine's administrator, and then the
/// signed policy in the vault.
struct PolicySources: Sendable {
    let home: VaultDirectory
    let device: DeviceKey

    /// Reads and merges all sources.
    ///
    /// - Throws: `policyInvalid` if a source cannot be read, trusted or understood; the system's error for a
    ///   failure that may not last.
    func read() throws(CofferError) -> ManagedPolicy {
        var policy = try home.policyDirectory.read()
        if let signed = try signedRecord()?.signed { try policy.add(signed) }
        return policy
    }

    /// Returns the record of a vault that has had a signed policy; `nil` if the vault has had none.
    ///
    /// - Throws: `policyInvalid` if the record is missing or permanently unreadable.
    func signedRecord() throws(CofferError) -> PolicyRecord? {
        let vault = try home.openVault()
        var isExpected = false
        do throws(CofferError) {
            isExpected = try Keybag.record.read(device: device, in: vault).payload.features.contains(
                .signedPolicy)
        } catch {
            // Without its keybag, a vault opens for signed commands only.
            let damage: Set<CofferError.Code> = [.absent, .corrupt, .foreign, .unsupportedVersion, .refused]
            guard damage.contains(error.code) else { throw error }
        }
        return try PolicyRecord.signed(device: device, in: vault, isExpected: isExpected)?.payload
    }
}
