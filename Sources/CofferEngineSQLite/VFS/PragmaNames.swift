import CSQLite
import CofferBase

/// A `PRAGMA` as SQLite passes it to the VFS: space for an answer, the pragma's name, and an optional value.
@safe struct PragmaNames {
    private let words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    let name: String
    let value: String?
    var hasValue: Bool { value != nil }

    init?(_ argument: UnsafeMutableRawPointer?) {
        guard let words = unsafe argument?.assumingMemoryBound(to: UnsafeMutablePointer<CChar>?.self),
            let name = unsafe words[1]
        else { return nil }
        unsafe self.words = words
        self.name = unsafe String(cString: name).foldedASCII
        value = unsafe words[2].map { unsafe String(cString: $0) }
    }

    /// Whether SQLCipher or SQLite's encryption extension sets a key with this pragma. SQLite ignores unknown
    /// pragmas, so without an error the user would believe that the pragma had set the key.
    var setsKey: Bool { ["key", "rekey", "hexkey", "hexrekey", "textkey", "textrekey"].contains(name) }

    /// Rejects a pragma that sets a key. SQLite reports the answer to a failing pragma as the error message.
    func refuseKey() -> Int32 {
        let result = answer(
            "PRAGMA \(name) does nothing in an encrypted database. Specify the key when you open the "
                + "database. To change the key, convert the database or call EncryptedDatabase.rekey")
        return result == SQLITE_OK ? SQLITE_ERROR : result
    }

    /// Answers with `text`, in memory that SQLite frees. A pragma that is reported as handled must have an
    /// answer: its statement has a column, which would otherwise have no name.
    func answer(_ text: String) -> Int32 {
        let bytes = Array(text.utf8) + [0]
        guard let memory = unsafe sqlite3_malloc(Int32(bytes.count)) else { return SQLITE_NOMEM }
        unsafe SharedMemoryRegion(unsafe memory, count: bytes.count).copy(bytes)
        unsafe words[0] = memory.assumingMemoryBound(to: CChar.self)
        return SQLITE_OK
    }
}
