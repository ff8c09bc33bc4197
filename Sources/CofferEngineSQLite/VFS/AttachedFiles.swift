import CSQLite

/// The encrypted databases that are attached to a connection, each with a key of its own.
struct AttachedFiles {
    private var files: [DatabaseFile] = []

    mutating func append(_ file: DatabaseFile) { files.append(file) }

    mutating func remove(_ file: DatabaseFile) { files.removeAll { $0 === file } }

    /// Whether the key of one of them was revoked.
    var isAnyRevoked: Bool { files.contains { $0.entry.isRevoked } }

    /// Reports whether a transaction of the connection has begun on one whose key was revoked.
    func isAnyRead(by connection: OpaquePointer) -> Bool {
        files.contains { file in
            guard file.entry.isRevoked, let schema = unsafe Self.schema(of: file, connection) else {
                return false
            }
            return unsafe sqlite3_txn_state(connection, schema) != SQLITE_TXN_NONE
        }
    }

    private static func schema(of file: DatabaseFile, _ connection: OpaquePointer) -> UnsafePointer<CChar>? {
        // After the connection's own database and the temporary one.
        var index: Int32 = 2
        while let name = unsafe sqlite3_db_name(connection, index) {
            if unsafe DatabaseFile.named(name, of: connection) === file { return unsafe name }
            index += 1
        }
        return nil
    }
}

extension DatabaseFile {
    /// Returns the encrypted file of a connection's database; `nil` for any other database.
    static func named(_ schema: UnsafePointer<CChar>, of connection: OpaquePointer) -> DatabaseFile? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        guard let methods = unsafe EncryptedVFS.registered?.methods,
            unsafe sqlite3_file_control(connection, schema, SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK
        else { return nil }
        return unsafe EncryptedMethods.object(file, methods) as? DatabaseFile
    }
}
