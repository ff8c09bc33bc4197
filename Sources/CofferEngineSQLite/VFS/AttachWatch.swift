import CSQLite
import CofferBase

/// Watches a connection whose statements attach databases by bound names, which no authorizer sees.
///
/// SQLite calls the tracer when a statement begins, with its values bound, and looks at its limit for
/// attached databases before it opens one. So the limit is 0 but while a statement runs whose name is
/// allowed: where the tracer is not called, nothing is attached. If the program has a tracer of its own, ours
/// calls it.
@safe final class AttachWatch {
    typealias Function =
        @convention(c) (
            UInt32, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?
        ) -> Int32

    private let connection: OpaquePointer
    /// The limit that the program set, or SQLite.
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

    /// Closes the connection to bound names until a statement begins that has one which is allowed.
    init(_ connection: OpaquePointer) {
        unsafe self.connection = connection
        limit = unsafe sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, 0)
    }

    /// Goes before the tracer that the connection has, unless it is there already. Returns whether it does.
    func install() -> Bool {
        close()
        guard let place = ConnectionMemory.tracer, let eventsPlace = ConnectionMemory.traceEvents else {
            return false
        }
        let present = unsafe ConnectionMemory.callback(of: connection, at: place)
        let tracer = unsafe unsafeBitCast(Self.tracer, to: UInt.self)
        guard present.function != tracer else { return true }
        let wanted = unsafe ConnectionMemory.byte(of: connection, at: eventsPlace)
        // The calls that SQLite had before: what they take is another function.
        guard wanted & ~Self.known == 0 else { return false }
        events = wanted
        unsafe function =
            present.function == 0 ? nil : unsafeBitCast(present.function, to: Function.self)
        unsafe argument = present.argument
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        return unsafe sqlite3_trace_v2(
            connection, UInt32(wanted | Self.begin | Self.end), Self.tracer, context) == SQLITE_OK
    }

    /// A name that is a literal was allowed: of what `VACUUM` attaches, no tracer is told.
    func open() { unsafe sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, limit) }

    private func close() { unsafe sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, 0) }

    private func trace(
        _ event: UInt32, _ first: UnsafeMutableRawPointer?, _ second: UnsafeMutableRawPointer?
    ) -> Int32 {
        switch event {
        case UInt32(Self.begin):
            // Compiled before, it attaches without another word to the authorizer.
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
