import Testing
import TestSupport

@testable import BenchReport

@Suite("The sentences of the benchmarks")
struct MeaningTests {
    private static let all = Meaning.groups.flatMap(\.meanings)

    @Test("Each family and each heading is there once, and each sentence is one")
    func table() {
        #expect(Set(Self.all.map(\.family)).count == Self.all.count)
        #expect(Set(Meaning.groups.map(\.heading)).count == Meaning.groups.count)
        for meaning in Self.all {
            #expect(!meaning.family.contains("/") && !meaning.family.isEmpty)
            #expect(meaning.sentence.hasSuffix(".") && !meaning.sentence.contains("\n"), "\(meaning.family)")
        }
    }

    @Test("A result is found by its name up to the first slash")
    func names() {
        #expect(Meaning.of("pbkdf2-sha256/600k/32")?.family == "pbkdf2-sha256")
        #expect(Meaning.variant(of: "pbkdf2-sha256/600k/32") == "600k/32")
        #expect(Meaning.of("db-scan")?.family == "db-scan" && Meaning.variant(of: "db-scan").isEmpty)
        #expect(Meaning.of("db-scanner") == nil && Meaning.of("") == nil)
    }

    @Test("Every benchmark of the program has a sentence, and every sentence a benchmark")
    func catalogue() throws {
        let bench = CommandRun.programs + "bench"
        let names = try CommandRun.run(bench, ["--list"])
        #expect(names.code == 0, "\(names.errorText)")
        let listed = names.text.split(separator: "\n").map(String.init)
        #expect(Set(listed.map { Meaning.family(of: $0) }) == Set(Self.all.map(\.family)))
        let explained = try CommandRun.run(bench, ["--list", "--explain"])
        let lines = explained.text.split(separator: "\n").map(String.init)
        #expect(explained.code == 0 && lines.count == listed.count)
        for (line, name) in zip(lines, listed) {
            let sentence = try #require(Meaning.of(name)?.sentence)
            #expect(line.hasPrefix(name + " ") && line.hasSuffix(" " + sentence), "\(line)")
        }
    }

    @Test("A part of a result's name chooses the benchmark that measures it")
    func filter() throws {
        let run = try CommandRun.run(
            CommandRun.programs + "bench", ["--list", "--filter", "vault-file-put/100"])
        #expect(run.code == 0)
        #expect(run.text.split(separator: "\n").contains("vault-file-put/1000"))
        #expect(!run.text.contains("gcm"))
    }
}
