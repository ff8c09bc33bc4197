public import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
public import CofferDatabase
import CofferEngine
import GRDB
import SystemPackage

/// The `coffer database query` command, which runs SQL on an encrypted database.
struct DatabaseQuery: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract: "Run SQL on an encrypted database.",
        discussion: """
            Rows are printed with tabs between the columns and no headers; with --json, as a list of \
            objects. Blobs are printed in hexadecimal, and NULL as an empty field. In text, \\t stands for a \
            tab, \\n and \\r for line endings, \\\\ for a backslash, and \\u with four digits for any other \
            control character. With a wrong key, the command ends with 7.

            Every user of the machine can see a command's arguments. Put statements with secrets into a file \
            or on standard input, or write ? for the secret and name a descriptor with --bind-fd.

            If the statements begin with a comment, write -- before them or put them into a file.

            The statements run in order. If one fails, the effects of the earlier ones stay unless they are \
            in a transaction. If another connection has locked the database, the command waits up to ten \
            seconds.

            With --vault, the command opens one of the vault's own databases, whose key the vault stores: \
            omit the path, --codec and the key options. The vault must be unlocked, or you must supply its \
            passcode. At the end of the inactivity time, even a running statement is interrupted and rolled \
            back. Without --vault, the command needs no vault and does not ask for a passcode.

            With --volatile, a new database is session-only: later commands find it until the next lock or \
            the end of the inactivity time. Its key is only in the kernel keyring, and the next command that \
            opens the vault removes its files.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The database; omit it with --vault.", completion: .file())
    var path: String?

    @Option(help: ArgumentHelp("The format: gcm1, sqlcipher4 or sqlcipher3.", valueName: "codec"))
    var codec: DatabaseFormat?

    @Option(
        help: ArgumentHelp("Open the vault's own database with this name.", valueName: "name"),
        completion: DatabaseNames.database)
    var vault: String?

    @Option(
        name: .customLong("class"),
        help: "With --vault and --create: when the new database can be opened; by default, as the vault says."
    )
    var protection: ProtectionClassArgument?

    @Flag(
        name: .customLong("volatile"),
        help: "With --vault and --create: keep a new database only until the next lock.")
    var isVolatile = false

    @OptionGroup var keys: DatabaseKeyOptions

    @Flag(help: "Create the database if it does not exist.")
    var create = false

    @Option(
        help: ArgumentHelp("Read the statements from this file; - is standard input.", valueName: "file"),
        completion: .file())
    var sqlFile: String?

    @Option(
        help: ArgumentHelp(
            "Bind the first line of this descriptor to a ? in the statements. Repeat for each ?, in order.",
            valueName: "n"))
    var bindFd: [Int32] = []

    @Argument(help: "One or more statements; - reads them from standard input.")
    var sql: String?

    /// The maximum total length of the SQL statements, in bytes.
    private static let maxByteCount = 16 << 20
    /// The number of seconds to wait while another connection uses the database.
    private static let busyDeadline = 10.0

    func run() async throws {
        guard let vault else {
            guard !isVolatile else {
                throw CofferError(
                    .invalidInput, "Only a database in the vault can be session-only. Specify --vault.")
            }
            return try runOnFile()
        }
        guard codec == nil, !keys.isGiven, !keys.describesDatabase else {
            throw CofferError(
                .invalidInput,
                "The vault stores the database's key. Omit --codec, --key-hex-fd, --passphrase-fd and "
                    + "SQLCipher's settings.")
        }
        guard sql == nil else {
            throw CofferError(
                .invalidInput,
                "A database in the vault has no path. With --vault, specify only the statements.")
        }
        let arguments = try boundValues()
        let text = try checked(statements(path))
        try await VaultOpener.withPasscode(global) { (opened) async throws(CofferError) -> Void in
            try await run(text, arguments, on: vault, of: VaultDatabases(opened))
        }
    }

    private func runOnFile() throws(CofferError) {
        guard let path else {
            throw CofferError(
                .invalidInput, "Specify the database's path, or a database in the vault with --vault.")
        }
        let file = try FilePathArgument.path(path)
        guard codec != nil || keys.profile != nil && !create else {
            throw CofferError(
                .invalidInput,
                "Specify the format with --codec or, for an existing database, the settings with --profile.")
        }
        try requireDatabase(at: file)
        let key = try keys.key(codec, at: file)
        let format = key.format
        let arguments = try boundValues()
        let sql = try checked(statements(sql))
        do {
            let queue = try EncryptedDatabase.queue(at: file, key: key, configuration: Self.waiting)
            try execute(sql, arguments, on: queue)
            try queue.close()
        } catch {
            throw explained(EncryptedDatabase.failure(error, at: file), format)
        }
    }

    private func run(
        _ sql: String, _ arguments: StatementArguments, on name: String, of databases: VaultDatabases
    ) async throws(CofferError) {
        let found = try await databases.info(of: name)
        guard create || found != nil else {
            throw CofferError(
                .absent,
                "The vault has no database \(name.printable). To create the database, specify --create.")
        }
        var failure: CofferError?
        do {
            let queue = try await databases.queue(
                name, class: protection?.protection, isVolatile: isVolatile || found?.isVolatile == true,
                configuration: Self.waiting)
            try execute(sql, arguments, on: queue)
        } catch {
            failure = EncryptedDatabase.failure(error)
        }
        // Also after an error: closing records beside the key that the database exists.
        await databases.close()
        if let failure { throw failure }
    }

    /// A database configuration that waits for other connections.
    private static var waiting: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(busyDeadline)
        return configuration
    }

    /// Returns the statements if there is a value for every placeholder, and throws an error otherwise. The
    /// values are counted before any statement runs, because the effects of earlier statements would remain.
    private func checked(_ sql: String) throws(CofferError) -> String {
        guard SQLPlaceholders.count(sql) == bindFd.count else {
            throw CofferError(
                .invalidInput,
                "No statement was run, because the statements must contain exactly one plain ? for each "
                    + "--bind-fd.")
        }
        return sql
    }

    private func execute(
        _ sql: String, _ arguments: StatementArguments, on queue: DatabaseQueue
    ) throws {
        var rows: [JSONDocument] = []
        try queue.writeWithoutTransaction { db in
            // GRDB ends the process if a transaction is left open.
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
                if vault != nil, Self.isVacuumInto(statement.sql) {
                    Output.message(
                        "coffer: The copy opens only in the place of this database, because the vault keeps "
                            + "its key. For a file with a key of its own, use coffer database convert "
                            + "--vault; for a backup, coffer backup create.")
                }
            }
            guard !db.isInsideTransaction else {
                throw CofferError(
                    .invalidInput,
                    "The statements left a transaction open, so the transaction was rolled back. End the "
                        + "transaction with COMMIT.")
            }
        }
        if global.json { try Output.json(.list(rows)) }
    }

    /// Reports whether a statement writes a copy of the database, judging by its first words.
    private static func isVacuumInto(_ sql: String) -> Bool {
        let words = sql.foldedASCII.utf8.split { $0 <= UInt8(ascii: " ") }.prefix(3)
        return words.first?.elementsEqual("vacuum".utf8) == true
            && words.contains { $0.elementsEqual("into".utf8) }
    }

    private func explained(_ error: CofferError, _ codec: DatabaseFormat) -> CofferError {
        guard error.code == .readOnly, codec == .sqlcipher3 else { return error }
        return CofferError(
            .readOnly,
            "\(error.message) The format \(codec.rawValue) is read-only. Convert the database first.",
            remedy: error.remedy)
    }

    /// Throws an error unless the database either exists or may be created.
    private func requireDatabase(at path: FilePath) throws(CofferError) {
        let isReadOnly = codec == .sqlcipher3
        guard !create || isReadOnly else { return }
        do throws(CofferError) {
            try EncryptedDatabase.requireDatabase(at: path)
        } catch {
            guard create, isReadOnly, error.code == .absent else { throw error }
            throw CofferError(
                .refused,
                "The database cannot be created, because the sqlcipher3 format is read-only. Use the "
                    + "gcm1 or sqlcipher4 format.")
        }
    }

    /// Reads the SQL statements from the argument, the file or standard input.
    private func statements(_ sql: String?) throws(CofferError) -> String {
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
                .invalidInput,
                "\(subject) contains a NUL byte, so SQLite would read only the part before that byte.")
        }
        guard let text = String(validating: copy, as: UTF8.self) else {
            throw CofferError(.invalidInput, "\(subject) must be valid UTF-8.")
        }
        return text
    }
}

/// A conformance that allows a command-line argument to specify a database format.
extension DatabaseFormat: ExpressibleByArgument {}
