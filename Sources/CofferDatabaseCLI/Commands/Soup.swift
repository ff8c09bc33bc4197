import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferDatabase

/// The `coffer soup` command, which groups the subcommands for JSON documents in the vault.
struct SoupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soup",
        abstract: "Store JSON documents in the vault and query them by indexed paths.",
        discussion: """
            Documents and queries are read as JSON from standard input or a file, never from arguments. A \
            soup is a set of documents; a store contains several soups in one encrypted database, whose key \
            the vault stores.
            """,
        subcommands: [SoupList.self, SoupShow.self, SoupQueryCommand.self, SoupUpsert.self, SoupRemove.self])
}

/// The `coffer soup list` command, which lists the soups in a store or the stores in the vault.
struct SoupList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the soups in a store, or the stores in the vault.",
        aliases: ["ls"])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: SoupOptions

    @Flag(help: "List the stores instead. Needs no passcode.")
    var stores = false

    func run() async throws {
        guard !stores else {
            let found = try await SoupStores(try await VaultOpener.vault(global)).names(options.scope)
            return try show(found)
        }
        try await options.withStore(global) { (store) async throws(CofferError) -> Void in
            try show(try await store.soupNames())
        }
    }

    private func show(_ names: [String]) throws(CofferError) {
        guard !global.json else { return try Output.json(.list(names.map { .text($0) })) }
        for name in names { try Output.line(name.printable) }
    }
}

/// The `coffer soup show` command, which shows a soup's indexes, dates and number of documents.
struct SoupShow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show a soup's indexes, dates and number of documents.",
        discussion: "Dates are in milliseconds since 1970.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: SoupOptions

    @Argument(help: "The soup.", completion: DatabaseNames.soup)
    var soup: String

    func run() async throws {
        try await options.withStore(global) { (store) async throws(CofferError) -> Void in
            try show(try await store.attributes(of: soup))
        }
    }

    private func show(_ soup: SoupAttributes) throws(CofferError) {
        guard !global.json else {
            return try Output.json(
                .object([
                    ("name", .text(soup.name)), ("entries", .number(soup.entryCount)),
                    ("created", .number(Int(soup.createdDate))),
                    ("lastModified", soup.lastModifiedDate.map { .number(Int($0)) } ?? .none),
                    ("beingAltered", .flag(soup.isBeingAltered)),
                    (
                        "indexes",
                        .list(
                            soup.indexSpecs.map {
                                .object([("path", .text($0.path)), ("type", .text($0.kind.rawValue))])
                            })
                    ),
                ]))
        }
        try Output.line("name: \(soup.name.printable)")
        try Output.line("entries: \(soup.entryCount)")
        try Output.line("created: \(soup.createdDate)")
        if let date = soup.lastModifiedDate { try Output.line("lastModified: \(date)") }
        for index in soup.indexSpecs {
            try Output.line("index: \(index.path.printable):\(index.kind.rawValue)")
        }
    }
}

/// The `coffer soup query` command, which prints the documents that a query finds.
struct SoupQueryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract: "Print the documents that a query finds, one per line; with --json, as one list.",
        discussion: """
            Without --spec, prints every document in the soup. A query is a JSON object in SmartStore's \
            terms: {"queryType":"exact","indexPath":"Name","matchKey":"Ada"}, or the type range with \
            beginKey and endKey, like with likeKey, match with matchKey, or all; each may have orderPath and \
            order (ascending or descending). {"queryType":"smart","smartSql":"SELECT {people:Name} FROM \
            {people} WHERE {people:Age} > ?","args":[30]} prints rows as lists and needs no soup argument.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: SoupOptions

    @Argument(help: "The soup; omit it for a smart query.", completion: DatabaseNames.soup)
    var soup: String?

    @Option(
        help: ArgumentHelp("Read the query from this file; - is standard input.", valueName: "file"),
        completion: .file())
    var spec: String?

    func run() async throws {
        let query = try SoupQueryDocument.read(spec)
        let soup = soup
        switch (query, soup) {
        case (.spec, nil): throw CofferError(.invalidInput, "Specify the soup to query.")
        case (.smart, .some):
            throw CofferError(.invalidInput, "A smart query specifies its own soups. Omit the soup argument.")
        default: break
        }
        try await options.withStore(global) { (store) async throws(CofferError) -> Void in
            var found: [JSONValue] = []
            switch query {
            case .spec(let spec):
                var documents = store.entries(matching: spec, in: soup ?? "").makeAsyncIterator()
                while let document = try await documents.next() { found.append(document) }
            case .smart(let query):
                var rows = store.rows(of: query).makeAsyncIterator()
                while let row = try await rows.next() { found.append(.array(row)) }
            }
            try SoupOptions.show(found, asJSON: global.json)
        }
    }
}

/// The `coffer soup upsert` command, which stores the documents from standard input.
struct SoupUpsert: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upsert",
        abstract: "Store the documents from standard input, all or none; print them as stored.",
        discussion: """
            Standard input is one JSON object, a list of objects, or one object per line. A document \
            replaces the entry that has the same _soupEntryId, or the same value at the path that \
            --external-id specifies; any other document is new. With --index, the command first creates the \
            soup and its store if they are missing.
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: SoupOptions

    @Argument(help: "The soup.", completion: DatabaseNames.soup)
    var soup: String

    @Option(
        help: ArgumentHelp(
            "Create the soup with this index if it is missing: string, integer, floating, fullText or json1; "
                + "may be repeated.", valueName: "path:type"))
    var index: [String] = []

    @Option(help: ArgumentHelp("The indexed path that contains another system's id.", valueName: "path"))
    var externalId: String?

    @Option(
        name: .customLong("class"),
        help: "When a new store can be opened; without it, the vault's default.")
    var protection: ProtectionClassArgument?

    func run() async throws {
        var specs: [IndexSpec] = []
        for text in index { specs.append(try Self.spec(text)) }
        let documents = try SoupOptions.documents(SoupOptions.input())
        let (soup, external) = (soup, externalId)
        try await options.withStore(
            global, creating: !specs.isEmpty, class: protection?.protection
        ) { (store) async throws(CofferError) -> Void in
            if !specs.isEmpty, try await !store.soupExists(soup) {
                try await store.registerSoup(soup, indexSpecs: specs)
            }
            let stored = try await store.upsert(documents, in: soup, externalIDPath: external)
            try SoupOptions.show(stored, asJSON: global.json)
        }
    }

    /// Parses an index of the form `PATH:TYPE`. The path itself may contain colons.
    private static func spec(_ text: String) throws(CofferError) -> IndexSpec {
        let bytes = Array(text.utf8)
        guard let colon = bytes.lastIndex(of: UInt8(ascii: ":")),
            let kind = IndexSpec.Kind(
                rawValue: String(decoding: bytes[(colon + 1)...], as: UTF8.self))
        else {
            throw CofferError(
                .invalidInput,
                "--index takes PATH:TYPE, where TYPE is string, integer, floating, fullText or json1.")
        }
        return IndexSpec(String(decoding: bytes[..<colon], as: UTF8.self), kind)
    }
}

/// The `coffer soup remove` command, which removes documents or a whole soup.
struct SoupRemove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove documents by id or by query, or the whole soup; print how many were removed.",
        discussion: """
            If one of the ids is not in the soup, the others are removed, and the command ends with 3. A \
            query that finds nothing removes 0 documents and ends with 0.
            """,
        aliases: ["rm"])

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: SoupOptions

    @Argument(help: "The soup.", completion: DatabaseNames.soup)
    var soup: String

    @Argument(help: "The _soupEntryId of each document to remove.")
    var ids: [Int64] = []

    @Option(
        help: ArgumentHelp(
            "Remove the documents that the query in this file finds; - is standard input.",
            valueName: "file"),
        completion: .file())
    var spec: String?

    @Flag(help: "Remove the soup itself, with all its documents.")
    var whole = false

    func run() async throws {
        guard [!ids.isEmpty, spec != nil, whole].count(where: { $0 }) == 1 else {
            throw CofferError(.invalidInput, "Specify exactly one of ids, --spec and --whole.")
        }
        var query: QuerySpec?
        if let spec {
            guard case .spec(let found) = try SoupQueryDocument.read(spec) else {
                throw CofferError(
                    .invalidInput, "A smart query cannot remove documents. Use a query of another type.")
            }
            query = found
        }
        let (soup, ids, doomed) = (soup, Set(ids), query)
        let count = try await options.withStore(global) { (store) async throws(CofferError) -> Int in
            if let doomed { return try await store.remove(matching: doomed, from: soup) }
            guard !whole else {
                let count = try await store.attributes(of: soup).entryCount
                try await store.removeSoup(soup)
                return count
            }
            return try await store.remove(Array(ids), from: soup)
        }
        let absent = ids.isEmpty ? 0 : ids.count - count
        let absence =
            ids.count == 1
            ? "The soup \(soup.printable) has no document with this id."
            : "The soup \(soup.printable) has no documents with \(absent) of the \(ids.count) specified ids."
        guard absent == 0 || count > 0 else { throw CofferError(.absent, absence) }
        if global.json {
            try Output.json(.object([("removed", .number(count))]))
        } else {
            try Output.line(String(count))
        }
        guard absent > 0 else { return }
        Output.message("coffer: \(absence)")
        throw ExitCode(CofferError.Code.absent.exitCode)
    }
}

extension SoupQueryDocument {
    /// Reads a query from the given file. Returns the query for all documents if no file is given.
    fileprivate static func read(_ name: String?) throws(CofferError) -> SoupQueryDocument {
        guard let name else { return .spec(.all(pageSize: pageSize)) }
        return try SoupQueryDocument(JSONValue(parsing: SoupOptions.input(name)))
    }
}
