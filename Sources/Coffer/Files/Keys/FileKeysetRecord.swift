import CofferBase
import CofferEngine
import CofferVault

/// The file keyset record on disk. A vault from a release without this record has no such record, and its
/// file keys are wrapped under keys derived from the device key and the class keys.
struct FileKeysetRecord {
    let device: DeviceKey

    /// The recorded keys and the stored record that they came from; both are empty for a vault that has no
    /// record yet.
    struct Contents {
        var keys: FileKeyset
        fileprivate let stored: AuthenticatedRecord<FileKeyset>.Contents?
    }

    func read(
        in vault: borrowing Descriptor, repairing: Bool = false
    ) throws(CofferError) -> Contents {
        guard try vault.status(of: FileKeyset.record.name) != nil else {
            return Contents(keys: FileKeyset(), stored: nil)
        }
        let contents = try FileKeyset.record.read(device: device, in: vault, repairing: repairing)
        return Contents(keys: contents.payload, stored: contents)
    }

    /// Writes `contents`. The caller must have held the vault directory's lock continuously since reading
    /// them.
    func write(_ contents: Contents, in vault: borrowing Descriptor) throws(CofferError) {
        if let stored = contents.stored {
            try FileKeyset.record.update(stored, to: contents.keys, device: device, in: vault)
        } else {
            try vault.removeTemporaries()
            try FileKeyset.record.createAtomically(contents.keys, device: device, in: vault)
        }
    }

    /// Returns the content of a file that replaces the one that `contents` was read from.
    func newFile(_ contents: Contents) throws(CofferError) -> [UInt8] {
        try FileKeyset.record.newFile(contents.keys, after: contents.stored, device: device)
    }

    /// Creates a new vault's record, in a directory that is not visible yet.
    static func create(device: DeviceKey, in vault: borrowing Descriptor) throws(CofferError) {
        var keys = FileKeyset()
        keys.hasIndex = true
        keys.hasIndexCommits = true
        try keys.addOuter(device)
        try FileKeyset.record.create(keys, device: device, in: vault)
    }

    /// Records that the index's commits are bound to their places, unless the record already states this.
    /// Call this method while holding the vault directory's lock.
    func noteIndexCommits(in vault: borrowing Descriptor) throws(CofferError) {
        var contents = try read(in: vault, repairing: true)
        guard contents.keys.hasIndex, !contents.keys.hasIndexCommits else { return }
        contents.keys.hasIndexCommits = true
        try write(contents, in: vault)
    }

    /// Returns the current keys for files of one class, and creates any missing keys. Call this method while
    /// holding the vault directory's lock.
    func current(
        _ protection: ProtectionClass, classKey: ClassKey, in vault: borrowing Descriptor
    ) throws(CofferError) -> (outer: FileKEK, inner: FileKEK) {
        var contents = try read(in: vault, repairing: true)
        let (oldOuter, oldInner) = try find(contents.keys, protection, classKey)
        if let oldOuter, let oldInner { return (oldOuter, oldInner) }
        if oldOuter == nil { try contents.keys.addOuter(device) }
        if oldInner == nil {
            try contents.keys.addInner(protection, classKey: classKey, vaultID: device.vaultID)
        }
        try write(contents, in: vault)
        let (outer, inner) = try find(contents.keys, protection, classKey)
        guard let outer, let inner else {
            throw CofferError(.internalFailure, "A file key that was just created is missing.")
        }
        return (outer, inner)
    }

    private func find(
        _ keys: FileKeyset, _ protection: ProtectionClass, _ classKey: ClassKey
    ) throws(CofferError) -> (outer: FileKEK?, inner: FileKEK?) {
        (
            try keys.currentOuter(device),
            try keys.currentInner(protection, classKey: classKey, vaultID: device.vaultID)
        )
    }
}
