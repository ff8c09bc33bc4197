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
            Rows are printed with tabs between the columns and no headers; with --json, as a list of \
            objects. Blobs print in hexadecimal, and NULL prints as nothing. In a text, \\t stands for a \
            tab, \\n and \\r for line endings, \\\\ for a backslash, and \\u with four digits for another \
            control character. A wrong key ends with 7.

            Every user of the machine can see a command's arguments. Put statements with secrets into a file \
            or on standard input, or write ? for the secret and name a descriptor with --bind-fd.

            If the statements begin with a comment, write -- before them or put them into a file.

            The statements run in order. If one fails, the effects of the earlier ones stay unless they are \
            in a transaction. If another connection holds the database, the command waits up to ten seconds.

            This command does not open the databases of a vault and does not ask for a passcode.
            """)

    @OptionGroup var global: NoVaultOptions

    @Argument(help: "The database.", completion: .file())
    var path: String

    @Option(help: ArgumentHelp("The format: gcm1, sqlcipher4 or sqlcipher3.", valueName: "codec"))
    var codec: DatabaseFormat

    @OptionGroup var keys: DatabaseKeyOptions

    @Flag(help: "Create the database if it does not exist.")
    var create = false

    @Option(
        help: ArgumentHelp("Read the statements from this file; - is standard input.", valueName: "file"),
        completion: .file())
    var sqlFile: String?

    @Option(
        help: ArgumentHelp(
            "Bind the first line of this descriptor to a ? of the statements. Repeat for each ?, in order.",
            valueName: "n"))
    var bindFd: [Int32] = []

    @Argument(help: "One or more statements; - reads them from standard input.")
    var sql: String?

    /// The maximum length of the statements, in bytes.
    private static let maxByteCount = 16 << 20
    /// How long to wait, in seconds, while another connection uses the database.
    private static let busyDeadline = 10.0

    func run() throws(CofferError) {
        let path = try FilePathArgument.path(path)
        try requireDatabase(at: path)
        let key = try keys.key(codec)
        let arguments = try boundValues()
        let sql = try statements()
        // Check before any statement runs: the effects of earlier statements would remain.
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
                // GRDB ends the process if a transaction is left open.
                defer { if db.isInsideTransaction { try? db.rollback() } }
                let statements = try db.allStatements(sql: sql, arguments: arguments)
                while let statement = try statements.next() {
                    let cursor = try Row.fetchCursor(statement)
                    while let row = try cursor.next() {
                        // PRAGMA incremental_vacuum returns rows without columns.
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
                        "The statements left a transaction open; it was rolled back. End it with COMMIT.")
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
            .readOnly, "\(error.message) The format \(codec.rawValue) is read-only. Convert the database.",
            remedy: error.remedy)
    }

    /// Throws unless the database exists or may be created.
    private func requireDatabase(at path: FilePath) throws(CofferError) {
        let isReadOnly = codec == .sqlcipher3
        guard !create || isReadOnly else { return }
        do throws(CofferError) {
            try EncryptedDatabase.requireDatabase(at: path)
        } catch {
            guard create, isReadOnly, error.code == .absent else { throw error }
            throw CofferError(
                .refused, "\(codec.rawValue) is read-only. Create the database in gcm1 or sqlcipher4.")
        }
    }

    /// Reads the statements from the argument, the file or standard input.
    private func statements() throws(CofferError) -> String {
        let source: Descriptor
        switch (sql, sqlFile) {
        case ("-", nil), (nil, "-"): source = try .standardInput()
        case (let sql?, nil): return sql
        case (nil, let file?): source = try .open(ProgramArguments.path(file), .read)
        default: throw CofferError(.invalidInput, "Specify either the statements or --sql-file.")
        }
        return try Self.text(
            of: SecretInput.all(from: source, limit: Self.maxByteCount), "The text of the statements")
    }

    /// Reads the values for the placeholders.
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
                .invalidInput, "\(subject) contains a NUL byte; SQLite would read only the part before it.")
        }
        guard let text = String(validating: copy, as: UTF8.self) else {
            throw CofferError(.invalidInput, "\(subject) is not UTF-8.")
        }
        return text
    }
}

/// Lets an argument name a format.
extension DatabaseFormat: ExpressibleByArgument {}
