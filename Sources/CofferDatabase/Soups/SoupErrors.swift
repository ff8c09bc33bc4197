import CofferBase
import CofferEngineSQLite
import GRDB

extension CofferError {
    /// Creates a `CofferError` from an error that a database operation threw.
    init(soups error: any Error) {
        switch error {
        case let error as CofferError: self = error
        case is CancellationError:
            self.init(.cancelled, "The operation was cancelled; the transaction was rolled back.")
        case let error as DatabaseError: self.init(sqlite: error)
        default: self.init(.internalFailure, "The database layer failed: \(type(of: error)).")
        }
    }

    private init(sqlite error: DatabaseError) {
        let text = error.message ?? error.resultCode.description
        switch error.resultCode.primaryResultCode {
        case _ where RevokedConnection.isRefusal(error):
            self.init(.locked, "The vault was locked. Unlock the vault, then open the store again.")
        case .SQLITE_ERROR: self.init(.invalidInput, "SQLite rejected the statement: \(text).")
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self.init(.busy, "Another connection has locked the database. Try again later.")
        case .SQLITE_FULL: self.init(.noSpace, "The disk is full. Free some space, then try again.")
        case .SQLITE_READONLY:
            self.init(.readOnly, "The database could not be written to, because it is read-only.")
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_FORMAT:
            self.init(.corrupt, "The database is damaged (\(text)). Restore a copy of the database.")
        case .SQLITE_PERM, .SQLITE_AUTH, .SQLITE_CANTOPEN:
            self.init(.permissionDenied, "The database could not be opened.")
        case .SQLITE_NOMEM: self.init(.outOfMemory, "There is not enough memory for SQLite.")
        case .SQLITE_INTERRUPT, .SQLITE_ABORT: self.init(.cancelled, "The statement was interrupted.")
        case .SQLITE_TOOBIG: self.init(.invalidInput, "A document or a statement is too large.")
        case .SQLITE_MISMATCH, .SQLITE_RANGE:
            self.init(.invalidInput, "SQLite rejected an argument: \(text).")
        case .SQLITE_MISUSE: self.init(.locked, "The database is closed. Open the database again.")
        case .SQLITE_IOERR where error.extendedResultCode == .SQLITE_IOERR_DATA:
            self.init(
                .corrupt, "A page in the database or in its WAL is damaged. Restore a copy of the database.")
        case .SQLITE_IOERR: self.init(.inputOutput, "Reading or writing the database failed: \(text).")
        default: self.init(.internalFailure, "SQLite failed: \(text).")
        }
    }

    static func absentSoup(_ name: String) -> CofferError {
        CofferError(.absent, "There is no soup \(quoted(name)).")
    }

    /// Returns a name formatted for use in messages: in quotation marks, shortened, and without control
    /// characters, which could corrupt terminal output.
    static func quoted(_ name: String) -> String {
        let shown = name.unicodeScalars.prefix(80).map { scalar in
            scalar.properties.generalCategory == .control ? "?" : String(scalar)
        }
        return "“" + shown.joined() + (name.unicodeScalars.count > 80 ? "…" : "") + "”"
    }
}
