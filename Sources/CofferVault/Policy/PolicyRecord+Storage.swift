package import CofferBase
package import CofferEngine

/// The reading and writing of the record of the policy.
extension PolicyRecord {
    /// The contents of a `policy` file, with the form that the file has.
    package struct Stored {
        package let contents: AuthenticatedRecord<PolicyRecord>.Contents
        package let record: AuthenticatedRecord<PolicyRecord>

        package var payload: PolicyRecord { contents.payload }
    }

    /// Whether the file has the size of a record with a signed policy. Nothing in it is checked.
    package static func hasSignedForm(in vault: borrowing Descriptor) throws(CofferError) -> Bool {
        guard let status = try vault.status(of: record.name) else { return false }
        return status.kind == .regular && status.size == Int64(record.slotSize * 2)
    }

    /// Reads the record in the form that it has; `nil` if there is none. If `isRepairing` is `true`, for
    /// which the caller has the vault directory's lock, also completes an interrupted update.
    package static func read(
        device: DeviceKey, in vault: borrowing Descriptor, repairing isRepairing: Bool = false
    ) throws(CofferError) -> Stored? {
        guard try vault.status(of: record.name) != nil else { return nil }
        let form = try hasSignedForm(in: vault) ? record : unsigned
        return Stored(
            contents: try form.read(device: device, in: vault, repairing: isRepairing), record: form)
    }

    /// Reads the record of a vault that has had a signed policy; `nil` if the vault has had none. The keybag
    /// says whether one `isExpected`.
    ///
    /// Throws `policyInvalid` if the record is missing or permanently unreadable. If the record is lost for
    /// good, the error's remedy is `restorePolicyRecord`.
    package static func signed(
        device: DeviceKey, in vault: borrowing Descriptor, isExpected: Bool, repairing: Bool = false
    ) throws(CofferError) -> Stored? {
        if !isExpected {
            guard try hasSignedForm(in: vault) else { return nil }
        }
        do throws(CofferError) {
            let contents = try record.read(device: device, in: vault, repairing: repairing)
            guard contents.payload.counter > 0 else {
                throw CofferError(.corrupt, "The policy record has no counter.")
            }
            return Stored(contents: contents, record: record)
        } catch {
            let remedy: CofferError.Remedy?
            switch error.code {
            case .absent, .corrupt, .foreign: remedy = .restorePolicyRecord
            case .unsupportedVersion: remedy = .useNewerRelease
            case .refused, .permissionDenied: remedy = nil
            default: throw error
            }
            let state = error.code == .absent ? "is missing" : "cannot be read"
            throw CofferError(
                .policyInvalid,
                "The record of this vault's signed policy \(state), so its rules are not known. "
                    + error.message,
                remedy: remedy, systemError: error.systemError)
        }
    }

    /// Returns the counter of the last signed policy; 0 if the vault has had none.
    package static func counter(
        device: DeviceKey, in vault: borrowing Descriptor
    ) throws(CofferError) -> UInt64 {
        try signed(device: device, in: vault, isExpected: false)?.payload.counter ?? 0
    }

    /// Stores a record with a signed policy, in place of one of either form. The caller has the vault
    /// directory's lock.
    package func store(
        over old: Stored?, device: DeviceKey, in vault: borrowing Descriptor
    ) throws(CofferError) {
        guard let old, old.record.slotSize == Self.record.slotSize else {
            try vault.removeTemporaries()
            return try Self.record.createAtomically(self, device: device, in: vault)
        }
        try Self.record.update(old.contents, to: self, device: device, in: vault)
    }

    /// Notes the digest of the administrator's files. A record that cannot be written prevents no unlock. A
    /// damaged record says nothing and is replaced, unless it may contain a signed policy. The caller has the
    /// vault directory's lock.
    ///
    /// - Returns: Whether another digest was noted before, or one that cannot be read.
    package static func note(
        _ digest: [UInt8]?, device: DeviceKey, in vault: borrowing Descriptor
    ) -> Bool {
        do throws(CofferError) {
            guard let stored = try read(device: device, in: vault, repairing: true) else {
                if digest != nil {
                    try? unsigned.createAtomically(PolicyRecord(digest: digest), device: device, in: vault)
                }
                return false
            }
            var noted = stored.payload
            guard noted.digest != digest else { return false }
            noted.digest = digest
            try stored.record.update(stored.contents, to: noted, device: device, in: vault)
        } catch {
            guard error.code == .corrupt || error.code == .foreign,
                (try? hasSignedForm(in: vault)) == false
            else { return false }
            try? unsigned.createAtomically(PolicyRecord(digest: digest), device: device, in: vault)
        }
        return true
    }
}
