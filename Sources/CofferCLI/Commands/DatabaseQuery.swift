public import ArgumentParser
import CofferBase
public import CofferDatabase
import CofferEngine
import GRDB
import SystemPackage

/// `coffer database query`
struct DatabaseQuery: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract: "Run SQL on an encrypted database.",
        discussion: """
            Rows are printed with tabs between the columns and no headers; with --json as a list of objects. \
            Blobs print in hexadecimal, and NULL prints as nothing. In a row, \\t stands for a tab in a \
            text, \\n and \\r for the ends of lines, \\\\ for a backslash, and \\u with four digits \
            for another control character. A wrong key ends with 7.

            Every user of the machine sees a command's arguments: put statements with secrets into a file or \
            on standard input, or write ? for the secret and name a descriptor with --bind-fd.

            Write -- before statements that begin with a comment, or put them into a file.

            The statements run one after the other: the effects of those before one that fails stay, unless \
            they are in a transaction. Where another connection holds the database, the command waits up to \
            ten seconds.

            The databases of a vault are not opened, and no passcode is asked for.
            """)

    @OptionGroup var global: NoVaultOptions

    @Argument(help: "The database.", completion: .file())
    var path: String

    @Option(help: ArgumentHelp("The format: gcm1, sqlcipher4 or sqlcipher3.", valueName: "codec"))
    var codec: DatabaseFormat

    @OptionGroup var keys: DatabaseKeyOptions

    @Flag(help: "Make the database when there is none.")
    var create = false

    @Option(
        help: ArgumentHelp("Read the statements from this file; - is standard input.", valueName: "file"),
        completion: .file())
    var sqlFile: String?

    @Option(
        help: ArgumentHelp(
            "Bind the first line of this descriptor to a ? of the statements; once for each, in their order.",
            valueName: "n"))
    var bindFd: [Int32] = []

    @Argument(help: "One statement or several; - reads them from standard input.")
    var sql: String?

    /// The longest statements that are read.
    private static let maxByteCount = 16 << 20
    /// How long another connection may hold the database, in seconds.
    private static let busyDeadline = 10.0

    func run() throws(CofferError) {
        let path = try FilePathArgument.path(path)
        try requireDatabase(at: path)
        let key = try keys.key(codec)
        let arguments = try boundValues()
        let sql = try statements()
        // Before anything runs: what was run before a mismatch shows would stay.
        guard SQLPlaceholders.count(sql) == bindFd.count else {
            throw CofferError(
                .invalidInput,
                "The statements must have one plain ? for each --bind-fd, and no named or numbered ones. "
                    + "Nothing was run.")
        }
        do {
            var configuration = Configuration()
            configuration.busyMode = .timeout(Self.busyDeadline)
            let queue = try EncryptedDatabase.queue(at: path, key: key, configuration: configuration)
            var rows: [JSONDocument] = []
            try queue.writeWithoutTransaction { db in
                // GRDB ends the process where a transaction is left open.
                defer { if db.isInsideTransaction { try? db.rollback() } }
                let statements = try db.allStatements(sql: sql, arguments: arguments)
                while let statement = try statements.next() {
                    let cursor = try Row.fetchCursor(statement)
                    while let row = try cursor.next() {
                        // PRAGMA incremental_vacuum has rows without a column.
                        guard !row.isEmpty else { continue }
                        if global.json {
                            rows.append(try PrintedRow.document(row))
                        } else {
                            try Output.line(PrintedRow.line(row))
                        }
                    }
                }
                guard !db.isInsideTransaction else {
                    throw CofferError(
                        .invalidInput,
                        "The statements leave a transaction open, which was rolled back: end it with COMMIT.")
                }
            }
            try queue.close()
            if global.json { try Output.json(.list(rows)) }
        } catch {
            throw explained(EncryptedDatabase.failure(error))
        }
    }

    private func explained(_ error: CofferError) -> CofferError {
        guard error.code == .readOnly, codec == .sqlcipher3 else { return error }
        return CofferError(
            .readOnly, "\(error.message) The format \(codec.rawValue) is read-only: convert the database.")
    }

    /// Makes sure that there is a database, or that one may be made.
    private func requireDatabase(at path: FilePath) throws(CofferError) {
        let isReadOnly = codec == .sqlcipher3
        guard !create || isReadOnly else { return }
        do throws(CofferError) {
            try EncryptedDatabase.requireDatabase(at: path)
        } catch {
            guard create, isReadOnly, error.code == .absent else { throw error }
            throw CofferError(
                .refused, "\(codec.rawValue) is read-only: make the database in gcm1 or sqlcipher4.")
        }
    }

    /// The statements, from where they were said to be.
    private func statements() throws(CofferError) -> String {
        let source: Descriptor
        switch (sql, sqlFile) {
        case ("-", nil), (nil, "-"): source = try .standardInput()
        case (let sql?, nil): return sql
        case (nil, let file?): source = try .open(ProgramArguments.path(file), .read)
        default: throw CofferError(.invalidInput, "Give the statements, or --sql-file, and not both.")
        }
        return try Self.text(
            of: SecretInput.all(from: source, limit: Self.maxByteCount), "The text of the statements")
    }

    /// The values for the question marks.
    private func boundValues() throws(CofferError) -> StatementArguments {
        var values: [String] = []
        for number in bindFd {
            values.append(
                try Self.text(of: PasscodeInput.line(of: number), "The value on descriptor \(number)"))
        }
        return StatementArguments(values)
    }

    private static func text(of bytes: borrowing GuardedBytes, _ subject: String) throws(CofferError)
        -> String
    {
        let copy = bytes.span.copied()
        guard !copy.contains(0) else {
            throw CofferError(
                .invalidInput, "\(subject) has a NUL byte in it, and SQLite would take what is before it.")
        }
        guard let text = String(validating: copy, as: UTF8.self) else {
            throw CofferError(.invalidInput, "\(subject) is not UTF-8.")
        }
        return text
    }
}

/// As an argument, by its name.
extension DatabaseFormat: ExpressibleByArgument {}
