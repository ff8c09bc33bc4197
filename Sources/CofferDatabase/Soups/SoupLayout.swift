import CofferBase
import GRDB

/// A registered soup and the tables behind it.
struct SoupLayout: Sendable {
    let id: Int64
    /// The number in the soup's table names. Altering the soup moves it to new tables.
    let storage: Int64
    let name: String
    /// The date when the soup was registered, in milliseconds since 1970.
    let created: Int64
    let indexes: [SoupIndex]

    var table: String { "coffer_soup_\(storage)" }
    var textTable: String { "\(table)_text" }
    var specs: [IndexSpec] { indexes.map(\.spec) }
    var textIndexes: [SoupIndex] { indexes.filter { $0.spec.kind == .fullText } }
    /// The indexes that have a column.
    var columns: [SoupIndex] { indexes.filter { $0.column != nil } }

    /// Reports whether these are the soup's indexes, in any order.
    func hasIndexes(_ specs: [IndexSpec]) -> Bool {
        // Compared byte by byte: Swift treats paths with different Unicode composition as equal.
        func keys(_ specs: [IndexSpec]) -> Set<[UInt8]> {
            Set(specs.map { Array("\($0.kind.rawValue) \($0.path)".utf8) })
        }
        return specs.count == indexes.count && keys(specs) == keys(self.specs)
    }

    /// Returns the same soup with other tables and indexes.
    func moved(to storage: Int64, indexes: [SoupIndex]) -> SoupLayout {
        SoupLayout(id: id, storage: storage, name: name, created: created, indexes: indexes)
    }

    /// Returns the index on `path`.
    ///
    /// - Throws: `invalidInput` when there is none.
    func index(on path: String) throws(CofferError) -> SoupIndex {
        // Compared byte by byte, like SQLite and unlike Swift's strings.
        guard let index = indexes.first(where: { $0.spec.path.utf8.elementsEqual(path.utf8) }) else {
            throw CofferError(
                .invalidInput,
                "The soup \(CofferError.quoted(name)) has no index on \(CofferError.quoted(path)).")
        }
        return index
    }

    /// Returns the SQL expression for the value at `path`: an index path or a field that every soup has.
    func expression(of path: String, in table: String?) throws(CofferError) -> String {
        if SoupField.columns.contains(path) { return table.map { "\($0).\(path)" } ?? path }
        return try index(on: path).expression(in: table)
    }
}

extension SoupLayout {
    /// The maximum number of indexes for a soup.
    private static let maximumIndexes = 128
    private static let maximumNameLength = 255

    /// Rejects a name that a soup cannot have.
    static func check(name: String) throws(CofferError) {
        guard !name.isEmpty else { throw CofferError(.invalidInput, "A soup's name cannot be empty.") }
        guard name.utf8.count <= maximumNameLength else {
            throw CofferError(.invalidInput, "A soup's name must be at most \(maximumNameLength) bytes long.")
        }
        let isBad = name.unicodeScalars.contains { scalar in
            scalar == "{" || scalar == "}" || scalar == ":"
                || scalar.properties.generalCategory == .control
        }
        guard !isBad else {
            throw CofferError(
                .invalidInput, "A soup's name cannot contain braces, colons or control characters.")
        }
    }

    /// Returns the indexes for these specifications.
    ///
    /// - Throws: `invalidInput` if there are no specifications or more than 128, if two have the same path,
    ///   or if a path is not valid or is reserved.
    static func indexes(_ specs: [IndexSpec]) throws(CofferError) -> [SoupIndex] {
        guard !specs.isEmpty else { throw CofferError(.invalidInput, "A soup requires at least one index.") }
        guard specs.count <= maximumIndexes else {
            throw CofferError(.invalidInput, "A soup can have at most \(maximumIndexes) indexes.")
        }
        var indexes: [SoupIndex] = []
        var seen: Set<[UInt8]> = []
        for (offset, spec) in specs.enumerated() {
            let isOwn = SoupField.columns.contains(spec.path) || spec.path == SoupField.fullText
            guard !isOwn else {
                throw CofferError(
                    .invalidInput, "The path \(spec.path) is reserved and cannot be indexed separately.")
            }
            guard seen.insert(Array(spec.path.utf8)).inserted else {
                throw CofferError(
                    .invalidInput, "The path \(CofferError.quoted(spec.path)) is specified twice.")
            }
            indexes.append(try SoupIndex(spec, number: offset + 1))
        }
        return indexes
    }
}

extension SoupLayout {
    /// Creates the tables, their indexes and the triggers that update the full-text index.
    func createTables(_ db: Database) throws {
        let columns = columns.compactMap { index in index.column.map { "\($0) \(index.columnType), " } }
        // The document is the last column, so that SQLite reads an index column without skipping the
        // document.
        try db.execute(
            sql: """
                CREATE TABLE \(table) (
                    \(SoupField.entryID) INTEGER PRIMARY KEY AUTOINCREMENT,
                    \(SoupField.created) INTEGER NOT NULL,
                    \(SoupField.lastModified) INTEGER NOT NULL,
                    \(SoupField.lastViewed) INTEGER NOT NULL,
                    \(columns.joined())\(SoupField.document) TEXT NOT NULL)
                """)
        for index in indexes where index.spec.kind != .fullText {
            try db.execute(
                sql: "CREATE INDEX \(table)_i\(index.number) ON \(table) (\(index.expression(in: nil)))")
        }
        try createTextTable(db)
    }

    private func createTextTable(_ db: Database) throws {
        let names = textIndexes.compactMap(\.column)
        guard !names.isEmpty else { return }
        let list = names.joined(separator: ", ")
        let old = names.map { "old.\($0)" }.joined(separator: ", ")
        let new = names.map { "new.\($0)" }.joined(separator: ", ")
        let id = SoupField.entryID
        let add = "INSERT INTO \(textTable) (rowid, \(list)) VALUES (new.\(id), \(new));"
        let remove = """
            INSERT INTO \(textTable) (\(textTable), rowid, \(list)) VALUES ('delete', old.\(id), \(old));
            """
        try db.execute(
            sql: """
                CREATE VIRTUAL TABLE \(textTable)
                    USING fts5(\(list), content='\(table)', content_rowid='\(id)');
                CREATE TRIGGER \(table)_text_i AFTER INSERT ON \(table) BEGIN \(add) END;
                CREATE TRIGGER \(table)_text_d AFTER DELETE ON \(table) BEGIN \(remove) END;
                CREATE TRIGGER \(table)_text_u AFTER UPDATE OF \(list) ON \(table)
                    BEGIN \(remove) \(add) END;
                """)
    }

    /// Creates the trigger that releases the files attached to an entry when the entry is removed in any way.
    func createReleaseTrigger(_ db: Database) throws {
        let own = "soup = \(id) AND entry = old.\(SoupField.entryID)"
        try db.execute(
            sql: """
                CREATE TRIGGER \(table)_files AFTER DELETE ON \(table) BEGIN
                    INSERT INTO coffer_released_files (file)
                        SELECT file FROM coffer_soup_files WHERE \(own);
                    DELETE FROM coffer_soup_files WHERE \(own);
                END
                """)
    }

    /// Drops the tables and everything that depends on them.
    func dropTables(_ db: Database) throws {
        try db.execute(sql: "DROP TABLE IF EXISTS \(textTable)")
        try db.execute(sql: "DROP TABLE IF EXISTS \(table)")
    }
}
