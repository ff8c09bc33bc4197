import CofferBase
import CofferEngine

/// The damage to a store of files as a whole, as far as it shows without unlocking.
struct FileCondition: Sendable {
    var missing: [FileID] = []
    var unlisted: [FileID] = []
    /// Why the index cannot be relied on.
    var indexDamage: CofferError?
    /// Why the record of the files' keys cannot be read, which also tells whether there is an index.
    var keysDamage: CofferError?

    /// As the report on a vault says it; nothing where nothing is wrong.
    var protections: [SecurityCheck] {
        var found: [SecurityCheck] = []
        if !missing.isEmpty {
            found.append(
                SecurityCheck(
                    "missing-files", .missing,
                    "Something else than Coffer deleted the containers of \(Self.named(missing)). Put them "
                        + "back from a copy of the home, or clear each entry with coffer file remove ID."))
        }
        if let indexDamage = keysDamage ?? indexDamage {
            found.append(SecurityCheck("file-index", .missing, indexDamage.message))
        } else if !unlisted.isEmpty {
            found.append(
                SecurityCheck(
                    "file-index", .missing,
                    "The index of files does not know \(Self.named(unlisted)): it is damaged or older than "
                        + "they are, or somebody else put them there. coffer file verify --all looks at "
                        + "every file, coffer file reindex takes them in."))
        }
        return found
    }

    /// How many, and the first of them.
    private static func named(_ ids: [FileID]) -> String {
        let shown = ids.prefix(5).map(\.description).joined(separator: ", ")
        let count = ids.count == 1 ? "1 file" : "\(ids.count) files"
        return "\(count): \(shown)" + (ids.count > 5 ? ", …" : "")
    }
}

extension FileStore {
    /// Damage that shows in the index or in the record that tells whether there is one; other failures, such
    /// as of memory, say nothing about them.
    private static let damages: Set<CofferError.Code> = [
        .corrupt, .foreign, .unsupportedVersion, .refused, .permissionDenied, .absent,
    ]

    /// Looks at the directory and at the index. What is wrong with them is told, not thrown.
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
