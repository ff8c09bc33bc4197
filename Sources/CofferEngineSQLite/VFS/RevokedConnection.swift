import CSQLite
import CofferBase
package import GRDB
import Synchronization

/// The rules for a connection whose key was revoked. The connection still has in-memory data that SQLite can
/// use without a call to the VFS: temporary tables, attached databases without a file, and pages of a
/// transaction in progress.
@safe package enum RevokedConnection {
    /// The authorizer's answer that denies an action. SQLite does not accept this code as an answer, so the
    /// statement fails with a message that no ordinary denial produces; an authorizer cannot choose the
    /// error code.
    static let refusal = SQLITE_AUTH_USER_CODE
    /// The message with which SQLite reports ``refusal``.
    private static let message = "authorizer malfunction"

    /// The hashes, seeded per process, of the statements that this package interrupted most recently. SQLite
    /// reports "interrupted" for these statements, as it does for those that the program interrupts.
    private static let interrupted = Mutex<[Interruption]>([])
    private static let maxInterruptedCount = 64
    /// The time after which an interruption of the same statement counts as the program's own.
    private static let maxInterruptionAge = Duration.seconds(10)

    private struct Interruption {
        let statement: Int
        let time: ContinuousClock.Instant
    }

    /// Reports whether a statement failed because its database's key was revoked.
    package static func isRefusal(_ error: DatabaseError) -> Bool {
        switch error.extendedResultCode.rawValue {
        case SQLITE_IOERR_AUTH_CODE, SQLITE_AUTH_USER_CODE: true
        case SQLITE_ERROR: error.message.map { $0.utf8.elementsEqual(message.utf8) } ?? false
        case SQLITE_NOMEM: CachedPages.refusedLately
        case SQLITE_INTERRUPT:
            error.sql.map { wasInterrupted(Array($0.utf8)) } ?? false
        default: false
        }
    }

    private static func wasInterrupted(_ sql: [UInt8]) -> Bool {
        let hash = fingerprint(of: sql)
        let oldest = ContinuousClock.now - maxInterruptionAge
        return interrupted.withLock { $0.contains { $0.statement == hash && $0.time >= oldest } }
    }

    /// Records the running statements of a connection, which the caller then interrupts. Returns whether
    /// there are any.
    static func noteRunning(on connection: OpaquePointer) -> Bool {
        var isAnyRunning = false
        var statement = unsafe sqlite3_next_stmt(connection, nil)
        while let current = unsafe statement {
            if unsafe sqlite3_stmt_busy(current) != 0 {
                isAnyRunning = true
                if let sql = unsafe sqlite3_sql(current) { note(unsafe CText.bytes(sql)) }
            }
            unsafe statement = unsafe sqlite3_next_stmt(connection, current)
        }
        return isAnyRunning
    }

    private static func note(_ sql: [UInt8]) {
        let hash = fingerprint(of: sql)
        interrupted.withLock { known in
            known.removeAll { $0.statement == hash }
            if known.count == maxInterruptedCount { known.removeFirst() }
            known.append(Interruption(statement: hash, time: .now))
        }
    }

    /// Returns the hash of a statement without the surrounding whitespace and semicolons, which GRDB strips.
    private static func fingerprint(of sql: [UInt8]) -> Int {
        let isOutside = { (byte: UInt8) in byte <= 0x20 || byte == UInt8(ascii: ";") }
        let end = sql.lastIndex { !isOutside($0) }.map { $0 + 1 } ?? 0
        return Array(sql[..<end].drop(while: isOutside)).hashValue
    }

    /// The pragmas that still work: the one that discards what was derived from the key, the one with which
    /// GRDB leaves its read-only mode, and the one with which ``empty(_:)`` drops the temporary tables.
    private static let pragmas = [EncryptedVFS.forgetPragma, "query_only", "temp_store"]

    /// Reports whether the guard may pass an action on to the connection's other rules. Transactions
    /// must be able to end. An action that begins a transaction on the connection's own file may pass,
    /// because it fails there with SQLite's own message.
    static func allows(
        _ action: Int32, _ first: UnsafePointer<CChar>?, _ third: UnsafePointer<CChar>?,
        on connection: OpaquePointer
    ) -> Bool {
        switch action {
        case SQLITE_TRANSACTION, SQLITE_SAVEPOINT, SQLITE_SELECT, SQLITE_FUNCTION, SQLITE_RECURSIVE: true
        case SQLITE_PRAGMA:
            unsafe first.map { pragmas.contains(unsafe String(cString: $0).foldedASCII) } ?? false
        default:
            unsafe isMain(third) && sqlite3_txn_state(connection, "main") == SQLITE_TXN_NONE
        }
    }

    private static func isMain(_ schema: UnsafePointer<CChar>?) -> Bool {
        unsafe schema.map { unsafe CText.bytes($0).elementsEqual("main".utf8) } ?? false
    }

    /// Resets all running statements and drops the temporary tables, so that no statement can read further
    /// data. SQLite then asks the authorizer again before it runs a statement.
    package static func empty(_ db: Database) {
        guard let connection = unsafe db.sqliteConnection else { return }
        var statement = unsafe sqlite3_next_stmt(connection, nil)
        while let current = unsafe statement {
            if unsafe sqlite3_stmt_busy(current) != 0 { unsafe sqlite3_reset(current) }
            unsafe statement = unsafe sqlite3_next_stmt(connection, current)
        }
        if let offset = ConnectionMemory.authorizer {
            let present = unsafe ConnectionMemory.callback(of: connection, at: offset)
            let function = unsafe unsafeBitCast(present.function, to: ConnectionGuard.Function?.self)
            // Setting the authorizer expires all compiled statements.
            unsafe sqlite3_set_authorizer(connection, function, present.argument)
        }
        // At least one of the two settings differs from the present one, and SQLite drops the temporary
        // tables when the setting changes.
        for setting in ["FILE", "DEFAULT"] {
            unsafe sqlite3_exec(connection, "PRAGMA temp_store = \(setting)", nil, nil, nil)
        }
    }
}
