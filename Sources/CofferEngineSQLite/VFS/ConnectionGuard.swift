import CofferBase
import CSQLite

/// Denies a connection what would lead out of the encryption: attaching a database through another VFS, and
/// extensions.
///
/// GRDB has an authorizer of its own, and SQLite keeps one only and does not tell which. So the place where a
/// connection keeps it is learnt from a connection made for the purpose, and GRDB's is called after ours.
@safe final class ConnectionGuard {
    private var handle: UnsafeMutablePointer<OpaquePointer?>?
    private var previous: Previous?
    /// The file of the connection's own database.
    weak var main: MainFile?

    typealias Function =
        @convention(c) (
            UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, UnsafePointer<CChar>?,
            UnsafePointer<CChar>?, UnsafePointer<CChar>?
        ) -> Int32

    /// What was there before, and what it is called with.
    @safe private struct Previous {
        let function: Function?
        let argument: UnsafeMutableRawPointer?
    }

    /// Keeps where SQLite says that its connection is.
    func remember(_ argument: UnsafeMutableRawPointer?) {
        unsafe handle = unsafe argument?.assumingMemoryBound(to: OpaquePointer?.self)
    }

    /// Goes before the authorizer that the connection has; once.
    func install() -> Bool {
        guard previous == nil else { return true }
        guard let connection = unsafe handle?.pointee, let place = AuthorizerPlace.offset else {
            return false
        }
        let memory = unsafe UnsafeRawPointer(connection)
        let function = unsafe memory.loadUnaligned(fromByteOffset: place, as: UInt.self)
        let argument = unsafe memory.loadUnaligned(
            fromByteOffset: place + MemoryLayout<UInt>.size, as: UnsafeMutableRawPointer?.self)
        previous = unsafe Previous(
            function: function == 0 ? nil : unsafeBitCast(function, to: Function.self), argument: argument)
        let own = unsafe Unmanaged.passUnretained(self).toOpaque()
        return unsafe sqlite3_set_authorizer(
            connection,
            { context, action, first, second, third, fourth in
                guard let context = unsafe context else { return SQLITE_DENY }
                let own = unsafe Unmanaged<ConnectionGuard>.fromOpaque(context).takeUnretainedValue()
                return unsafe own.authorize(action, first, second, third, fourth)
            }, own) == SQLITE_OK
    }

    private func authorize(
        _ action: Int32, _ first: UnsafePointer<CChar>?, _ second: UnsafePointer<CChar>?,
        _ third: UnsafePointer<CChar>?, _ fourth: UnsafePointer<CChar>?
    ) -> Int32 {
        let isAllowed =
            switch action {
            // A name that is no literal is not known when the statement is compiled, so it is refused.
            case SQLITE_ATTACH: unsafe first.map { unsafe allows(CText.bytes($0)) } ?? false
            case SQLITE_FUNCTION:
                unsafe second.map { unsafe String(cString: $0).foldedASCII } != "load_extension"
            default: true
            }
        guard isAllowed else { return SQLITE_DENY }
        guard let previous, let function = unsafe previous.function else { return SQLITE_OK }
        return unsafe function(previous.argument, action, first, second, third, fourth)
    }

    /// Whether a database of this name may be attached. That of a `VACUUM INTO` gets the connection's key.
    private func allows(_ name: [UInt8]) -> Bool {
        guard AttachRule.allows(name) else { return false }
        let path: [UInt8]
        switch DatabaseURI.read(name) {
        case .path: path = name
        case .uri(let uri): path = uri.path
        case .refused: return false
        }
        if !path.isEmpty, let main, let connection = unsafe handle?.pointee,
            unsafe VacuumTarget.isVacuuming(connection), let full = ShimVFS.fullPath(path)
        {
            VacuumTarget.expect(full, VacuumTarget(entry: main.entry, identity: main.codec.identity))
        }
        return true
    }

    /// Has the connection read the first page that another one has just made.
    func beginAgain() {
        guard let connection = unsafe handle?.pointee else { return }
        unsafe sqlite3_exec(connection, "PRAGMA schema_version", nil, nil, nil)
    }
}

/// Where in a connection SQLite keeps the authorizer, followed by its argument.
private enum AuthorizerPlace {
    /// Looked for once, twice over; `nil` when it is not found exactly once.
    static let offset: Int? = {
        var connection: OpaquePointer?
        defer { unsafe sqlite3_close(connection) }
        guard unsafe sqlite3_open_v2(":memory:", &connection, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK,
            let connection = unsafe connection
        else { return nil }
        let found = [0x1357_9bdf_0246_8ace, 0x2468_ace0_1357_9bdf].map { mark in
            unsafe places(in: connection, mark: UInt(mark))
        }
        unsafe sqlite3_set_authorizer(connection, nil, nil)
        guard found[0].count == 1, found[0] == found[1] else { return nil }
        return found[0].first
    }()

    private static func places(in connection: OpaquePointer, mark: UInt) -> [Int] {
        let function: ConnectionGuard.Function = { _, _, _, _, _, _ in SQLITE_OK }
        let marker = unsafe UnsafeMutableRawPointer(bitPattern: mark)
        unsafe sqlite3_set_authorizer(connection, function, marker)
        let word = MemoryLayout<UInt>.size
        let memory = unsafe UnsafeRawPointer(connection)
        let size = unsafe Int(sqlite3_msize(UnsafeMutableRawPointer(connection)))
        let wanted = unsafe unsafeBitCast(function, to: UInt.self)
        return stride(from: 0, through: size - 2 * word, by: word).filter { offset in
            unsafe memory.loadUnaligned(fromByteOffset: offset, as: UInt.self) == wanted
                && memory.loadUnaligned(fromByteOffset: offset + word, as: UInt.self) == mark
        }
    }
}
