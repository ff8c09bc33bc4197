package import CofferBase
import CSQLite

/// A namespace for functions that convert SQLite's result codes to typed errors.
package enum SQLiteFailure {
    /// Returns the error for an extended result code.
    ///
    /// - Parameters:
    ///   - code: The extended result code.
    ///   - message: SQLite's message. It can quote the statement, so report it only to the caller.
    ///   - handle: The key handle that the database was opened with, if opening it failed.
    /// - Returns: The typed error that corresponds to the code.
    package static func error(
        _ code: Int32, _ message: String, opening handle: DatabaseKeyHandle? = nil
    ) -> CofferError {
        switch code {
        case SQLITE_IOERR_DATA_CODE:
            return CofferError(
                .corrupt,
                "A page in the database, or in the journal or WAL beside it, is damaged or was changed. "
                    + "Move these files elsewhere unchanged, and restore a backup.")
        case SQLITE_IOERR_AUTH_CODE, SQLITE_AUTH_USER_CODE:
            return CofferError(
                .locked,
                "The database's key was revoked, because the vault was locked or closed, or its inactivity "
                    + "time ended. Unlock the vault and open the database again.")
        case SQLITE_READONLY_ROLLBACK_CODE:
            return CofferError(
                .readOnly,
                "A crash interrupted the database's last transaction, which cannot be rolled back "
                    + "because the database is not writable. Open the database for writing once, or convert "
                    + "it, which works on a copy.")
        case SQLITE_READONLY_DBMOVED_CODE:
            return CofferError(
                .conflict,
                "The database file was moved, removed or replaced after it was opened. Open the database "
                    + "again.")
        case SQLITE_READONLY_CANTINIT_CODE, SQLITE_READONLY_DIRECTORY_CODE: return UnopenedFile.readOnlyFolder
        case SQLITE_READONLY_GEOMETRY_CODE:
            return CofferError(
                .refused,
                "The source's pages do not fit into this database, because the source is plain, has "
                    + "another format or was converted from SQLCipher. Attach the source and copy its rows, "
                    + "or convert the source.")
        default: break
        }
        switch code & 0xff {
        case SQLITE_NOTADB: return notADatabase(handle?.diagnosis, handle?.format)
        case SQLITE_CORRUPT:
            return CofferError(
                .corrupt, "The database is damaged (\(message)). Restore a copy of the database.")
        case SQLITE_FULL:
            return CofferError(.noSpace, "The disk is full. Free some space, then try again.")
        case SQLITE_BUSY, SQLITE_LOCKED:
            return CofferError(.busy, "Another connection has locked the database. Try again later.")
        case SQLITE_READONLY:
            return CofferError(.readOnly, "The database could not be written to: \(message).")
        case SQLITE_PERM:
            return CofferError(.permissionDenied, "This user has no permission to open the database.")
        case SQLITE_AUTH:
            return CofferError(
                .refused,
                "The statement is not allowed on an encrypted database, because it would attach a file "
                    + "without its key or load an extension. A program can attach the path of an encrypted "
                    + "queue or pool that is open.")
        case SQLITE_MISUSE: return CofferError(.locked, "The database is closed. Open the database again.")
        case SQLITE_NOMEM: return CofferError(.outOfMemory, "There is not enough memory for the database.")
        case SQLITE_INTERRUPT: return CofferError(.cancelled, "The statement was interrupted.")
        case SQLITE_ABORT:
            return CofferError(
                .cancelled, "The transaction was rolled back because a statement in it was interrupted.")
        case SQLITE_CANTOPEN where handle?.diagnosis == .noMemory: return notADatabase(.noMemory, nil)
        case SQLITE_CANTOPEN:
            return CofferError(
                .inputOutput,
                "The database could not be opened. If the statement attaches a file: a path has no key, so "
                    + "only the path of an encrypted queue or pool that is open can be attached.")
        case SQLITE_IOERR: return CofferError(.inputOutput, "The database could not be read or written.")
        case SQLITE_CONSTRAINT:
            return CofferError(.conflict, "A constraint of the database forbids the change: \(message).")
        case SQLITE_ERROR, SQLITE_MISMATCH, SQLITE_RANGE, SQLITE_TOOBIG:
            return CofferError(.invalidInput, "SQLite rejected the statement: \(message).")
        default: return CofferError(.internalFailure, "SQLite failed with code \(code): \(message).")
        }
    }

    /// Returns the error for a file that was refused because it begins in plaintext.
    package static func notEncrypted(_ handle: DatabaseKeyHandle) -> CofferError {
        notADatabase(handle.diagnosis ?? .plain, handle.format)
    }

    private static func notADatabase(_ diagnosis: OpenDiagnosis?, _ format: CodecFormat?) -> CofferError {
        switch diagnosis {
        case .plain:
            CofferError(
                .refused, "The database is not encrypted. Convert the database first.",
                remedy: .convertPlainDatabase)
        case .plaintextHeader:
            CofferError(
                .unsupported,
                "The database begins in plaintext (SQLCipher's cipher_plaintext_header_size) and does "
                    + "not contain its salt. Specify the salt and the plaintext header's length with the "
                    + "key, or use SQLCipher to export it to a database without a plaintext header.",
                remedy: .specifySalt)
        case .otherFormat:
            CofferError(
                .foreign,
                format == .gcm1
                    ? "The file is not a gcm1 database. If SQLCipher wrote it, specify the format sqlcipher4 "
                        + "or sqlcipher3; otherwise, it is not a database that Coffer can read."
                    : "The database has the format gcm1. Specify that format.")
        case .tooShort where format == .gcm1:
            CofferError(
                .corrupt,
                "The file is shorter than the first page of a database in this format, so it was cut off or "
                    + "is not a database. Restore a copy of the database.")
        case .tooShort:
            // Another setting could make it a whole database.
            CofferError(
                .notAuthentic,
                "The file is shorter than the first page of a database with these settings. Either the "
                    + "database has smaller pages, or the file was cut off or is not a database.",
                remedy: .specifySQLCipherVersion)
        case .otherVersion:
            CofferError(
                .unsupportedVersion,
                "This release does not support the database's format version. Use a newer release.")
        case .expensive(let cost):
            CofferError(
                .refused,
                "Deriving the database's key requires \(cost.memoryKiB >> 10) MiB of memory and "
                    + "\(cost.passes) passes before anything in the database can be checked.",
                remedy: .allowExpensiveDerivation)
        case .impossibleCost:
            CofferError(
                .refused,
                "The derivation cost in the database's header is out of bounds. Either the header is "
                    + "damaged, or a newer release wrote it.")
        case .noMemory:
            CofferError(
                .outOfMemory,
                "There is not enough memory to derive the database's key. Close other programs, then try "
                    + "again.")
        case .damaged:
            CofferError(.corrupt, "The database's first page is damaged. Restore a copy of the database.")
        case .unwritten:
            CofferError(
                .corrupt,
                "The database begins with zeros. Either its first transaction was interrupted before it "
                    + "stored anything, or its beginning was overwritten. Remove the database and the "
                    + "journal beside it, or restore a copy of the database.")
        case .emptied:
            CofferError(
                .corrupt,
                "The database is empty, but the journal beside it belongs to a database that was not. "
                    + "Restore a copy of the database, or remove both files.")
        case .wrongKey, nil:
            CofferError(
                .notAuthentic, "The key does not open the database, or the database's first page is damaged.",
                remedy: format == nil || format == .gcm1 ? nil : .specifySQLCipherVersion)
        }
    }
}
