import Testing

/// Rules 1 to 5, 9, 11 and 12 over every Swift file of the package.
@Suite("Rules 1 to 5, 9, 11 and 12: the sources")
struct SourceRulesTests {
    private let sources: [SwiftSource]

    init() throws {
        sources = try Repository.swiftSources()
        #expect(sources.count > 20, "The sources were not found at the root.")
    }

    @Test("1: C modules are imported in the engine only")
    func imports() throws {
        let cellar = try Repository.cellarModules()
        #expect(cellar.isSuperset(of: ["COpenSSL", "CSodium", "CLinux", "CGIO", "CCurl"]))
        report(sources.flatMap { Rules.imports($0, cellar: cellar) })
    }

    @Test("2: nothing unsafe outside the engine")
    func dangerousWords() { report(sources.flatMap(Rules.dangerousWords)) }

    @Test("2: every unchecked promise says why it holds")
    func promises() { report(sources.flatMap(Rules.unexplainedPromises)) }

    @Test("3: no try!, no force unwrap, no fatalError")
    func crashes() { report(sources.flatMap { Rules.crashes($0, allowed: []) }) }

    @Test("4: one place prints")
    func prints() { report(sources.flatMap(Rules.prints)) }

    @Test("5: files of 400 lines and lines of 110 columns at most")
    func sizes() throws {
        report(sources.flatMap(Rules.sizes))
        let others = try Repository.files(under: ["Sources", "Scripts"]) {
            $0.hasSuffix(".h") || $0.hasSuffix(".sh") || $0.hasPrefix("Scripts/")
        }
        for path in others + ["Package.swift", ".ci/run"] where Repository.has(path) {
            let lines = try Repository.text(of: path).split(separator: "\n").map(String.init)
            report(Rules.longLines(lines, in: path))
        }
    }

    @Test("5: one public type a file, named after it")
    func publicTypes() { report(sources.flatMap(Rules.publicTypes)) }

    @Test("9: text is compared as bytes")
    func textComparisons() { report(sources.flatMap(Rules.textComparisons)) }

    @Test("11: no text of a library names a command")
    func commands() {
        let programs = ["Sources/CofferCLI", "Sources/CofferDatabaseCLI"]
        let names = Set(sources.filter { programs.contains($0.module) }.flatMap(Rules.commandNames))
        #expect(names.isSuperset(of: ["wipe", "token", "file", "passcode"]), "The commands were not found.")
        report(sources.flatMap { Rules.commands($0, names: names) })
    }

    @Test("12: no Mutex holds a closure")
    func mutexes() { report(sources.flatMap(Rules.closuresInMutexes)) }

    @Test("Messages of the command begin with a capital letter")
    func capitals() {
        let messages = sources.filter { Rules.commandModules.contains($0.module) }.flatMap(\.literals)
            .filter { $0.text.hasPrefix("coffer: ") }
        #expect(messages.count > 20, "The messages were not found.")
        for message in messages {
            #expect(!message.text.contains(/^coffer: [a-z]/), "\(message.text)")
        }
    }

    @Test("11: the command has words for every remedy of the library")
    func remedies() throws {
        let base = try #require(sources.first { $0.path == "Sources/CofferBase/CofferError+Remedy.swift" })
        let words = try #require(sources.first { $0.path == "Sources/CofferCommandLine/Remedies.swift" })
        let kinds = base.code.filter { $0.contains(/^\s+case\s/) }
            .flatMap { Rules.words($0).dropFirst().map(String.init) }
        let lets = base.code.flatMap { $0.matches(of: /static let (\w+) = Remedy\(kind: \.(\w+)\)/) }
        let remedies = lets.map { String($0.1) }
        #expect(lets.allSatisfy { $0.1 == $0.2 })
        let worded = words.code.flatMap { line in line.matches(of: /^ +\.(\w+):/).map { String($0.1) } }
        #expect(!remedies.isEmpty && kinds.sorted() == remedies.sorted())
        #expect(worded.sorted() == remedies.sorted())
        for sentence in words.literals where sentence.text.contains(" ") && sentence.text != " " {
            let text = sentence.text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(text.hasSuffix("."), "\(text)")
        }
    }
}

/// Records one issue for each finding.
func report(_ findings: [Finding]) {
    for finding in findings { Issue.record(Comment(rawValue: finding.description)) }
}
