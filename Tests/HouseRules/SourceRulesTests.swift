import Testing

/// Rules 1 to 5 and 9 over every Swift file of the package.
@Suite("Rules 1 to 5 and 9: the sources")
struct SourceRulesTests {
    private let sources: [SwiftSource]

    init() throws {
        sources = try Repository.swiftSources()
        #expect(sources.count > 20, "The sources were not found at the root.")
    }

    @Test("1: C modules are imported in the engine only")
    func imports() throws {
        let cellar = try Repository.cellarModules()
        #expect(cellar.isSuperset(of: ["COpenSSL", "CSodium", "CLinux", "CSecretService"]))
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
}

/// Records one issue for each finding.
func report(_ findings: [Finding]) {
    for finding in findings { Issue.record(Comment(rawValue: finding.description)) }
}
