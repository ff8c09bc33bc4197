import CSQLite

/// The offsets at which SQLite stores a connection's callbacks, which no SQLite function reports. Each offset
/// is determined with a connection opened for this purpose, and is `nil` unless exactly one place matches.
@safe enum ConnectionMemory {
    /// A callback function and its argument.
    @safe struct Callback {
        /// The address of the function; 0 for none.
        let function: UInt
        let argument: UnsafeMutableRawPointer?
    }

    /// The offset of the authorizer; the authorizer's argument follows it.
    static let authorizer: Int? = unsafe callbackOffset(
        unsafeBitCast(anyAuthorizer, to: UInt.self),
        setting: { connection, mark in
            unsafe sqlite3_set_authorizer(
                connection, anyAuthorizer, UnsafeMutableRawPointer(bitPattern: mark))
        })

    /// The offset of the tracer; the tracer's argument follows it.
    static let tracer: Int? = unsafe callbackOffset(
        unsafeBitCast(anyTracer, to: UInt.self),
        setting: { connection, mark in
            unsafe sqlite3_trace_v2(
                connection, UInt32(SQLITE_TRACE_STMT), anyTracer, UnsafeMutableRawPointer(bitPattern: mark))
        })

    /// The offset of the byte that selects the events for which SQLite calls the tracer.
    static let traceEvents: Int? = unsafe withConnection { connection in
        let events: [UInt8] = [1, 2, 4, 8, 15, 6, 9]
        let memory = unsafe UnsafeRawPointer(connection)
        var offsets = unsafe Array(0..<size(connection))
        for event in events {
            unsafe sqlite3_trace_v2(connection, UInt32(event), anyTracer, nil)
            offsets.removeAll { unsafe memory.load(fromByteOffset: $0, as: UInt8.self) != event }
        }
        return offsets.count == 1 ? offsets.first : nil
    }

    private static let anyAuthorizer: ConnectionGuard.Function = { _, _, _, _, _, _ in SQLITE_OK }
    private static let anyTracer: AttachWatch.Function = { _, _, _, _ in 0 }

    static func callback(of connection: OpaquePointer, at offset: Int) -> Callback {
        let memory = unsafe UnsafeRawPointer(connection)
        return unsafe Callback(
            function: memory.loadUnaligned(fromByteOffset: offset, as: UInt.self),
            argument: memory.loadUnaligned(
                fromByteOffset: offset + MemoryLayout<UInt>.size, as: UnsafeMutableRawPointer?.self))
    }

    static func byte(of connection: OpaquePointer, at offset: Int) -> UInt8 {
        unsafe UnsafeRawPointer(connection).load(fromByteOffset: offset, as: UInt8.self)
    }

    /// Returns the offset of a callback, found by setting `function` twice, with a different marker as its
    /// argument each time.
    private static func callbackOffset(
        _ function: UInt, setting set: (OpaquePointer, UInt) -> Int32
    ) -> Int? {
        unsafe withConnection { connection in
            let word = MemoryLayout<UInt>.size
            let found = [0x1357_9bdf_0246_8ace, 0x2468_ace0_1357_9bdf].map { (mark: UInt) in
                _ = unsafe set(connection, mark)
                let last = unsafe size(connection) - 2 * word
                return stride(from: 0, through: last, by: word).filter { offset in
                    let present = unsafe callback(of: connection, at: offset)
                    return unsafe present.function == function
                        && UInt(bitPattern: present.argument) == mark
                }
            }
            return found[0].count == 1 && found[0] == found[1] ? found[0].first : nil
        }
    }

    private static func size(_ connection: OpaquePointer) -> Int {
        unsafe Int(sqlite3_msize(UnsafeMutableRawPointer(connection)))
    }

    private static func withConnection(_ body: (OpaquePointer) -> Int?) -> Int? {
        var connection: OpaquePointer?
        defer { unsafe sqlite3_close(connection) }
        guard unsafe sqlite3_open_v2(":memory:", &connection, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK,
            let connection = unsafe connection
        else { return nil }
        defer {
            unsafe sqlite3_set_authorizer(connection, nil, nil)
            unsafe sqlite3_trace_v2(connection, 0, nil, nil)
        }
        return unsafe body(connection)
    }
}
