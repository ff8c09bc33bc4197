import CofferBase
import CofferEngine

/// The damage to a file store as a whole, as far as it is visible without unlocking.
struct FileCondition: Sendable {
    var missing: [FileID] = []
    var unlisted: [FileID] = []
    /// The reason the index is unreliable.
    var indexDamage: CofferError?
    /// The reason the file keyset record cannot be read. That record also shows whether there is an index.
    var keysDamage: CofferError?

    /// The checks for the vault's diagnostics; empty if nothing is wrong.
    var protections: [SecurityCheck] {
        var found: [SecurityCheck] = []
        if !missing.isEmpty {
            found.append(
                SecurityCheck(
                    "missing-files", .missing,
                    "Another program deleted the containers of \(Self.named(missing)). Restore them "
                        + "from a copy of the home, or clear each entry with coffer file remove ID."))
        }
        if let indexDamage = keysDamage ?? indexDamage {
            found.append(SecurityCheck("file-index", .missing, indexDamage.message))
        } else if !unlisted.isEmpty {
            found.append(
                SecurityCheck(
                    "file-index", .missing,
                    "The index of files does not list \(Self.named(unlisted)): it is damaged or older than "
                        + "they are, or another program put them there. coffer file verify --all checks "
                        + "every file, coffer file reindex adds them."))
        }
        return found
    }

    /// Describes the number of files and names the first of them.
    private static func named(_ ids: [FileID]) -> String {
        let shown = ids.prefix(5).map(\.description).joined(separator: ", ")
        let count = ids.count == 1 ? "1 file" : "\(ids.count) files"
        return "\(count): \(shown)" + (ids.count > 5 ? ", …" : "")
    }
}

extension FileStore {
    /// Errors that indicate damage to the index or to the record that shows whether there is one. Other
    /// errors, such as a lack of memory, do not.
    private static let damages: Set<CofferError.Code> = [
        .corrupt, .foreign, .unsupportedVersion, .refused, .permissionDenied, .absent,
    ]

    /// Examines the directory and the index. Returns damage to them instead of throwing it.
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
