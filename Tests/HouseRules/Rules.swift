/// The house rules that look at one Swift file, as functions from a file to the places where it breaks them.
enum Rules {
    /// Rule 1: C modules are imported in the engine only; Glibc is one of them where products are built.
    static func imports(_ source: SwiftSource, cellar: Set<String>) -> [Finding] {
        guard !isEngineRoom(source) else { return [] }
        let isProduct = !source.path.hasPrefix("Tests/")
        return source.findings("imports a C module outside the engine") { line in
            guard let module = importedModule(line) else { return false }
            let isLibrary = ["Glibc", "Musl", "Darwin"].contains(module)
            return cellar.contains(module) || isProduct && isLibrary
        }
    }

    /// The module that a line imports.
    static func importedModule(_ line: String) -> String? {
        let kinds: Set<Substring> = [
            "struct", "class", "enum", "protocol", "func", "var", "let", "typealias",
        ]
        var words = line.split(whereSeparator: \.isWhitespace).drop { $0 != "import" }.dropFirst()
        if let first = words.first, kinds.contains(first) { words = words.dropFirst() }
        return words.first.map { String($0.prefix { $0.isLetter || $0.isNumber || $0 == "_" }) }
    }

    /// Rule 2: nothing that the compiler cannot check outside the engine.
    static func dangerousWords(_ source: SwiftSource) -> [Finding] {
        guard !isEngineRoom(source) else { return [] }
        let words: Set<Substring> = ["unsafe", "OpaquePointer", "Unmanaged", "unchecked", "CVaListPointer"]
        return source.findings("is unsafe, outside the engine") { line in
            // UnsafeNonceAEAD warns of reused nonces; it touches no memory by address.
            self.words(line).contains { word in
                words.contains(word) || word.contains("Unsafe") && word != "UnsafeNonceAEAD"
            }
        }
    }

    /// The identifiers and keywords of a line.
    static func words(_ line: String) -> [Substring] {
        // Every byte of a letter outside ASCII has its highest bit set.
        line.utf8.split {
            !(UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) && $0 != UInt8(ascii: "_")
                && $0 < 0x80
                && !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        }.map { Substring($0) }
    }

    /// Rule 2, inside the engine: every promise that the compiler cannot check says why it holds.
    static func unexplainedPromises(_ source: SwiftSource) -> [Finding] {
        var findings: [Finding] = []
        for (index, line) in source.code.enumerated() {
            for promise in ["@unchecked", "nonisolated(unsafe)"] where line.contains(promise) {
                guard !source.hasComment(promise, above: index + 1) else { continue }
                findings.append(
                    Finding(path: source.path, line: index + 1, what: "\(promise) without a reason above it"))
            }
        }
        return findings
    }

    /// Rule 3: nothing that ends the process instead of throwing.
    static func crashes(_ source: SwiftSource, allowed: Set<String>) -> [Finding] {
        guard source.path.hasPrefix("Sources/"), !allowed.contains(source.path) else { return [] }
        return source.findings("ends the process instead of throwing") { line in
            words(line).contains { $0 == "fatalError" || $0 == "preconditionFailure" }
                || line.utf8.contains(UInt8(ascii: "!")) && line.contains(/(try|as)!|[\w\)\]\}">?]!(?!=)/)
        }
    }

    /// Rule 4: one place prints.
    static func prints(_ source: SwiftSource) -> [Finding] {
        guard source.path.hasPrefix("Sources/"), source.path != "Sources/CofferCommandLine/Output.swift"
        else { return [] }
        return source.findings("prints") {
            $0.contains(/(^|[^\w.])(print|debugPrint|dump|NSLog|puts|fputs)\s*\(/)
        }
    }

    /// Rule 5: short files and short lines.
    static func sizes(_ source: SwiftSource) -> [Finding] {
        var findings = longLines(source.lines, in: source.path)
        // A final newline makes an empty last element.
        let count = source.lines.last == "" ? source.lines.count - 1 : source.lines.count
        if count > 400 {
            findings.append(
                Finding(path: source.path, line: count, what: "has \(count) lines, 400 are allowed"))
        }
        return findings
    }

    static func longLines(_ lines: [String], in path: String) -> [Finding] {
        lines.enumerated().filter { $0.element.utf8.count > 110 && $0.element.count > 110 }.map {
            Finding(
                path: path, line: $0.offset + 1, what: "has \($0.element.count) columns, 110 are allowed")
        }
    }

    /// Rule 5: one public type a file, which has its name.
    static func publicTypes(_ source: SwiftSource) -> [Finding] {
        guard source.path.hasPrefix("Sources/") else { return [] }
        let types = topLevelPublicTypes(source)
        let name = source.path.split(separator: "/").last?.split(separator: ".").first.map(String.init) ?? ""
        var findings = types.dropFirst().map {
            Finding(path: source.path, line: $0.line, what: "\($0.text) is a second public type")
        }
        if let only = types.first, types.count == 1, only.text != name {
            findings.append(
                Finding(path: source.path, line: only.line, what: "\(only.text) is not the file's name"))
        }
        return findings
    }

    private static func topLevelPublicTypes(_ source: SwiftSource) -> [SwiftSource.Piece] {
        var types: [SwiftSource.Piece] = []
        var depth = 0
        for (index, line) in source.code.enumerated() {
            if depth == 0, let name = publicTypeName(line) {
                types.append(SwiftSource.Piece(line: index + 1, text: name))
            }
            depth += line.count { $0 == "{" } - line.count { $0 == "}" }
        }
        return types
    }

    /// The name of the public type that a line declares.
    private static func publicTypeName(_ line: String) -> String? {
        let kinds: Set<Substring> = ["struct", "class", "enum", "actor", "protocol"]
        guard let start = line.first(where: { !$0.isWhitespace }), start == "@" || start == "p" else {
            return nil
        }
        let modifiers: Set<Substring> = ["final", "indirect", "distributed"]
        let words = words(line).drop { $0 != "public" }.dropFirst().drop { modifiers.contains($0) }
        guard let kind = words.first, kinds.contains(kind) else { return nil }
        return words.dropFirst().first.map(String.init)
    }

    /// The programs `coffer`, `coffer-database`, `coffer-oauth` and `coffer-pkcs11`, and what they share.
    static let commandModules: Set<String> = [
        "Sources/CofferCLI", "Sources/CofferCommandLine", "Sources/CofferDatabaseCLI",
        "Sources/CofferOAuthCLI", "Sources/CofferPKCS11CLI",
    ]

    /// Rule 11: the libraries name no command, because other applications show their messages, too.
    static func commands(_ source: SwiftSource, names: Set<String>) -> [Finding] {
        guard source.path.hasPrefix("Sources/"), !commandModules.contains(source.module) else { return [] }
        return source.literals.filter { literal in
            literal.text.contains(/\bcoffer[\s\\]+$/)
                || literal.text.matches(of: /\bcoffer[\s\\]+([a-z0-9-]+)/).contains {
                    names.contains(String($0.1))
                }
        }.map { Finding(path: source.path, line: $0.line, what: "names a command of coffer") }
    }

    /// The names of the commands that a file declares.
    static func commandNames(_ source: SwiftSource) -> [String] {
        source.lines.flatMap { line in
            line.matches(of: /commandName: "([a-z0-9-]+)"/).map { String($0.1) }
        }
    }

    /// Rule 12: no Mutex holds a closure itself. Each access wraps it once more, without end; a structure
    /// that contains the closure is not wrapped.
    static func closuresInMutexes(_ source: SwiftSource) -> [Finding] {
        source.findings("has a Mutex that holds a closure: put it into a structure") { line in
            line.ranges(of: "Mutex<").contains { namesFunction(line[$0.upperBound...]) }
        }
    }

    /// Whether an arrow precedes the angle bracket that closes the generic arguments `text`.
    private static func namesFunction(_ text: Substring) -> Bool {
        var depth = 1
        var last: Character = " "
        for character in text {
            defer { last = character }
            guard character != ">" || last != "-" else { return true }
            if character == "<" { depth += 1 }
            if character == ">" { depth -= 1 }
            if depth == 0 { return false }
        }
        return false
    }

    private static let rooms: Set = [
        "Sources/CofferC", "Sources/CofferDBus", "Benchmarks/Peers", "Benchmarks/SwiftCrypto",
    ]

    /// The rooms where pointers are, and the files in which libFuzzer, valgrind and SQLite's test program are
    /// spoken to by address.
    private static func isEngineRoom(_ source: SwiftSource) -> Bool {
        source.module.hasPrefix("Sources/CofferEngine")
            || rooms.contains(source.module)
            || source.path == "Tests/Fuzz/main.swift" || source.path == "Tests/Probe/Poison.swift"
            || source.path == "Tests/SQLite/Fixture/Fixture.swift"
    }
}
