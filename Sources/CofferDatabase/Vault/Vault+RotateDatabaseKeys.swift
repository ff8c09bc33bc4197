public import Coffer
public import CofferBase
import CofferEngine
import SystemPackage

extension Vault {
    /// Gives every database and soup store of this vault a new key, in its own place: its content is written
    /// to a new file under the new key, which takes the place of the old one. Afterwards, an older copy of
    /// the vault opens nothing that is written to these databases from then on.
    ///
    /// Replace the class keys first, with `Vault.rotateKeys(of:passcode:newPasscode:progress:)`: otherwise
    /// the older copy opens the new keys.
    ///
    /// A database that a program uses keeps its key and is named in the report: close it, release its queue
    /// or pool, and call this method again. A connection that is idle, in another journal mode than WAL, is
    /// not noticed: it goes on reading what the database contained, fails with `conflict` at its next write,
    /// and has to be opened again. A database that is damaged, or whose file is a link, keeps its key and its
    /// content, and the others get new keys. Afterwards, the databases are in the journal mode DELETE; a pool
    /// sets WAL when it opens one. Session-only databases are left out, because their keys are never stored.
    ///
    /// While a database is written again, other connections to it wait, and fail with `busy` after their
    /// timeout.
    ///
    /// Each database changes in one step. If the call is interrupted, or throws, each has its old key or its
    /// new one, and all its content; call this method again for the others. While a database is copied, the
    /// disk needs room for a second one of its size.
    ///
    /// - Returns: The databases that have new keys, and those that kept theirs.
    /// - Throws: `unsupported` if the Secret Service holds the keys, which does not say when a new key is on
    ///   the disk; `locked` unless all classes concerned are unlocked; `busy` if another process holds the
    ///   vault's lock for too long; `cancelled`, `wiped`, `noSpace`, `readOnly`.
    public func rotateDatabaseKeys() async throws(CofferError) -> DatabaseRotationReport {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            let check = { () throws(CofferError) in
                guard !cancellation.isCancelled else {
                    throw CofferError(.cancelled, "The replacement of keys was cancelled.")
                }
            }
            let keys = VaultDatabaseKeys(self)
            var report = DatabaseRotationReport()
            let databases = try VaultDatabaseFiles.names(in: keys.directory).map {
                (scope: $0.scope, name: $0.name, text: "\($0.scope)/\($0.name)")
            }.sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }
            if !databases.isEmpty { try tokens.requireReplaceableDatabaseKeys() }
            for (scope, name, text) in databases {
                try check()
                let reason = try keys.replace(scope, name, check: check)
                guard let reason else {
                    report.replaced.append(text)
                    continue
                }
                // Otherwise it was removed meanwhile.
                guard try DatabaseBackups(self).contains(scope, name) else { continue }
                report.kept.append(DatabaseRotationReport.Kept(name: text, reason: reason))
            }
            return report
        }
    }
}
