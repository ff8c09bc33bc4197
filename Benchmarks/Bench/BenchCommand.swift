import ArgumentParser
import BenchPeers
import BenchReport
import CofferBase

/// Measures the package against real peers: both sides in turn, on the same data, in one run.
@main
struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Measures Coffer against OpenSSL, libsodium, age and cp.",
        discussion: """
            Every figure is the median of at least 9 samples. A ratio is their time / our time, so above 1 \
            we are faster. Peers that are not installed are skipped with a line.
            """)

    @Flag(help: "Take fewer and shorter samples: under a minute for everything.")
    var quick = false

    @Option(help: ArgumentHelp("Write the figures as JSON.", valueName: "file"))
    var json: String?

    @Option(help: ArgumentHelp("Write a page with a summary and bar charts.", valueName: "file"))
    var html: String?

    @Option(help: ArgumentHelp("Run only benchmarks whose name contains this.", valueName: "name"))
    var filter: String?

    @Flag(help: "List the names and exit.")
    var list = false

    @Flag(help: "Print in a sentence what each benchmark measures.")
    var explain = false

    @Option(help: ArgumentHelp("Print how the ratios changed since an earlier JSON.", valueName: "old.json"))
    var compare: String?

    func run() async throws {
        let chosen = Catalogue.all.filter { benchmark in
            filter.map { part in benchmark.figures.contains { $0.contains(part) } } ?? true
        }
        guard !chosen.isEmpty else {
            throw ValidationError("No benchmark's name contains '\(filter ?? "")'.")
        }
        if list { return try show(chosen) }
        #if DEBUG
            throw ReleaseBuild.takeOver()
        #else
            let old = try compare.map { path throws(CofferError) in try ReportFile.read(path) }
            let report = try await measure(chosen)
            if let json { try ReportFile.write(report, to: json) }
            if let html { try ReportFile.write(HTMLPage(report: report).text, to: html) }
            if let old { Comparison(old: old, new: report).lines.forEach(OwnProcess.show) }
        #endif
    }

    /// Prints the names of all results, and fails if one of the catalogue's has no sentence.
    private func show(_ chosen: [Benchmark]) throws(ValidationError) {
        for figure in chosen.flatMap(\.figures) {
            let sentence = explain ? Meaning.of(figure)?.sentence : nil
            OwnProcess.show(sentence.map { Format.pad(figure, 32) + $0 } ?? figure)
        }
        let unexplained = Catalogue.unexplained
        guard unexplained.isEmpty else {
            throw ValidationError("No sentence in Meaning.swift: \(unexplained.joined(separator: ", "))")
        }
    }

    private func measure(_ chosen: [Benchmark]) async throws(CofferError) -> Report {
        let machine = Machine.current()
        machine.lines.forEach(OwnProcess.show)
        let runner = Runner(quick: quick)
        defer {
            runner.close()
            VaultBench.close()
        }
        OwnProcess.show(Table.header)
        var explained: Set<String> = []
        for benchmark in chosen {
            if explain {
                for meaning in benchmark.figures.compactMap(Meaning.of)
                where explained.insert(meaning.family).inserted { OwnProcess.show(Table.row(meaning)) }
            }
            try await benchmark.run(runner)
        }
        OwnProcess.show(Table.footer)
        return Report(
            machine: machine, quick: quick, results: runner.results, skipped: runner.skipped)
    }
}
