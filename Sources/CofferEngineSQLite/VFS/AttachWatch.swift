import CSQLite
import CofferBase

/// A watch on a connection whose statements attach databases by bound names, which SQLite does not pass to an
/// authorizer.
///
/// SQLite calls the tracer when a statement begins, with its values bound, and checks the limit for attached
/// databases before it opens a database. Therefore the limit is 0 except while a statement with an allowed
/// name runs: if SQLite does not call the tracer, it attaches nothing. If the program has its own tracer, the
/// tracer of this class calls it.
@safe final class AttachWatch {
    typealias Function =
        @convention(c) (
            UInt32, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?
        ) -> Int32

    private let connection: OpaquePointer
    /// The limit for attached databases that the program or SQLite set.
    private let limit: Int32
    private var events: UInt8 = 0
    private var function: Function?
    private var argument: UnsafeMutableRawPointer?

    private static let begin = UInt8(SQLITE_TRACE_STMT)
    private static let end = UInt8(SQLITE_TRACE_PROFILE)
    private static let known = begin | end | UInt8(SQLITE_TRACE_ROW) | UInt8(SQLITE_TRACE_CLOSE)

    private static let tracer: Function = { event, context, first, second in
        guard let context = unsafe context else { return 0 }
        let own = unsafe Unmanaged<AttachWatch>.fromOpaque(context).takeUnretainedValue()
        return unsafe own.trace(event, first, second)
    }

    /// Blocks attaching by bound names until a statement with an allowed name begins.
    init(_ connection: OpaquePointer) {
        unsafe self.connection = connection
        limit = unsafe sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, 0)
    }

    /// Installs this class's tracer in front of the one that the connection has, unless it is already
    /// installed. Returns whether it is installed.
    func install() -> Bool {
        close()
        guard let offset = ConnectionMemory.tracer, let eventsOffset = ConnectionMemory.traceEvents else {
            return false
        }
        let present = unsafe ConnectionMemory.callback(of: connection, at: offset)
        let tracer = unsafe unsafeBitCast(Self.tracer, to: UInt.self)
        guard present.function != tracer else { return true }
        let wanted = unsafe ConnectionMemory.byte(of: connection, at: eventsOffset)
        // Any other flag belongs to SQLite's older tracing calls, whose callback has another type.
        guard wanted & ~Self.known == 0 else { return false }
        events = wanted
        unsafe function =
            present.function == 0 ? nil : unsafeBitCast(present.function, to: Function.self)
        unsafe argument = present.argument
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        return unsafe sqlite3_trace_v2(
            connection, UInt32(wanted | Self.begin | Self.end), Self.tracer, context) == SQLITE_OK
    }

    /// Raises the limit for a literal name that was already checked. SQLite does not call tracers for the
    /// `ATTACH` that a `VACUUM` runs.
    func open() { unsafe sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, limit) }

    private func close() { unsafe sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, 0) }

    private func trace(
        _ event: UInt32, _ first: UnsafeMutableRawPointer?, _ second: UnsafeMutableRawPointer?
    ) -> Int32 {
        switch event {
        case UInt32(Self.begin):
            // SQLite does not call the authorizer again for a statement that it compiled earlier.
            VacuumTarget.drop()
            if unsafe isAllowed(OpaquePointer(first)) { open() } else { close() }
        case UInt32(Self.end): close()
        default: break
        }
        guard event & UInt32(events) != 0, let function = unsafe function else { return 0 }
        return unsafe function(event, argument, first, second)
    }

    private func isAllowed(_ statement: OpaquePointer?) -> Bool {
        guard let sql = unsafe sqlite3_sql(statement), unsafe AttachStatement.isOne(CText.bytes(sql)),
            let text = unsafe sqlite3_expanded_sql(statement)
        else { return false }
        defer { unsafe sqlite3_free(text) }
        return unsafe AttachStatement.name(in: CText.bytes(text)).map { AttachRule.allows($0) } ?? false
    }
}
