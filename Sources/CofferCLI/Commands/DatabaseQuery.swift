public import ArgumentParser
import CofferBase
public import CofferDatabase
import GRDB
import SystemPackage

/// `coffer database query`
struct DatabaseQuery: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract: "Run SQL on an encrypted database.",
        discussion: """
            Rows are printed with tabs between the columns, blobs in hexadecimal; with --json as a list of \
            objects. A wrong key ends with 7.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The database.", completion: .file())
    var path: String

    @Option(help: ArgumentHelp("The format: gcm1, sqlcipher4 or sqlcipher3.", valueName: "codec"))
    var codec: DatabaseFormat

    @OptionGroup var keys: DatabaseKeyOptions

    @Flag(help: "Make the database when there is none.")
    var create = false

    @Argument(help: "One statement or several.")
    var sql: String

    func run() throws(CofferError) {
        guard create || DatabaseKeyOptions.exists(FilePath(path)) else {
            throw CofferError(.absent, "There is no database at \(path).")
        }
        let key = try keys.key(codec)
        let queue = try EncryptedDatabase.queue(at: FilePath(path), key: key)
        do {
            var rows: [JSONDocument] = []
            try queue.writeWithoutTransaction { db in
                let statements = try db.allStatements(sql: sql)
                while let statement = try statements.next() {
                    let cursor = try Row.fetchCursor(statement)
                    while let row = try cursor.next() {
                        if global.json {
                            rows.append(.object(row.map { ($0, Self.document($1)) }))
                        } else {
                            try Output.line(row.map { Self.text($1) }.joined(separator: "\t"))
                        }
                    }
                }
            }
            try queue.close()
            if global.json { try Output.json(.list(rows)) }
        } catch {
            throw EncryptedDatabase.failure(error)
        }
    }

    private static func text(_ value: DatabaseValue) -> String {
        switch value.storage {
        case .null: ""
        case .int64(let number): String(number)
        case .double(let number): String(number)
        case .string(let text): text
        case .blob(let bytes): hex(bytes)
        }
    }

    private static func document(_ value: DatabaseValue) -> JSONDocument {
        switch value.storage {
        case .null: .none
        case .int64(let number): .number(Int(number))
        case .double(let number): number.isFinite ? .decimal(number) : .text(String(number))
        case .string(let text): .text(text)
        case .blob(let bytes): .text(hex(bytes))
        }
    }

    private static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

/// As an argument, by its name.
extension DatabaseFormat: ExpressibleByArgument {}
