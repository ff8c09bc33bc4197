import CofferBase
import CofferEngine

/// The damage to a file store that can be detected without unlocking the vault.
struct FileCondition: Sendable {
    var missing: [FileID] = []
    var unlisted: [FileID] = []
    /// The error that describes the damage to the index; `nil` if no damage was found.
    var indexDamage: CofferError?
    /// The error that occurred when the file keyset record, which also states whether there is an index, was
    /// read; `nil` if the record is readable.
    var keysDamage: CofferError?
}

extension FileStore {
    /// The error codes that indicate damage to the index or to the record that states whether there is an
    /// index. Other errors, such as a lack of memory, do not indicate damage.
    private static let damages: Set<CofferError.Code> = [
        .corrupt, .foreign, .unsupportedVersion, .refused, .permissionDenied, .absent,
    ]

    /// Returns the store's condition, after examining the directory and the index. Errors that indicate
    /// damage are returned instead of thrown.
    func condition() throws(CofferError) -> FileCondition {
        let present = Set(try ids())
        do throws(CofferError) {
            guard try fileKeys().hasIndex else { return FileCondition() }
        } catch {
            guard Self.damages.contains(error.code) else { throw error }
            return FileCondition(keysDamage: error)
        }
        do throws(CofferError) {
            let contents = try index.salvage(in: core.home.openVault())
            let found = try differences(present, contents)
            return FileCondition(
                missing: found.missing, unlisted: found.unlisted,
                indexDamage: contents.isDamaged ? FileIndex.corruptError : nil)
        } catch {
            guard Self.damages.contains(error.code) else { throw error }
            return FileCondition(indexDamage: error)
        }
    }
}
