import CofferBase

extension FileCondition {
    /// The problems to report in the vault's diagnostics; empty if nothing is wrong.
    var protections: [SecurityCheck] {
        var found: [SecurityCheck] = []
        if !missing.isEmpty {
            found.append(
                SecurityCheck(
                    "missing-files", .missing,
                    "Another program deleted the containers of \(Self.named(missing)).",
                    remedy: .restoreOrRemoveFile))
        }
        if let indexDamage = keysDamage ?? indexDamage {
            found.append(
                SecurityCheck(
                    "file-index", .missing, indexDamage.message, remedy: indexDamage.remedy))
        } else if !unlisted.isEmpty {
            found.append(
                SecurityCheck(
                    "file-index", .missing,
                    "The file index does not list \(Self.named(unlisted)). The index is damaged or outdated, "
                        + "or another program added containers.",
                    remedy: .verifyAndReindexFiles))
        }
        return found
    }

    /// Returns the number of files and the ids of the first five.
    private static func named(_ ids: [FileID]) -> String {
        let shown = ids.prefix(5).map(\.description).joined(separator: ", ")
        let count = ids.count == 1 ? "1 file" : "\(ids.count) files"
        return "\(count): \(shown)" + (ids.count > 5 ? ", …" : "")
    }
}
