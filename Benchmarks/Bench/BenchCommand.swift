import ArgumentParser
import BenchPeers
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

    @Option(help: ArgumentHelp("Write a page with bar charts.", valueName: "file"))
    var html: String?

    @Option(help: ArgumentHelp("Run only benchmarks whose name contains this.", valueName: "name"))
    var filter: String?

    @Flag(help: "List the names and exit.")
    var list = false

    @Option(help: ArgumentHelp("Print how the ratios changed since an earlier JSON.", valueName: "old.json"))
    var compare: String?

    func run() async throws {
        let chosen = Catalogue.all.filter { filter.map($0.name.contains) ?? true }
        guard !chosen.isEmpty else {
            throw ValidationError("No benchmark's name contains '\(filter ?? "")'.")
        }
        if list {
            for benchmark in chosen { OwnProcess.show(benchmark.name) }
            return
        }
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

    private func measure(_ chosen: [Benchmark]) async throws(CofferError) -> Report {
        let machine = Machine.current()
        machine.lines.forEach(OwnProcess.show)
        let runner = Runner(quick: quick)
        defer {
            runner.close()
            VaultBench.close()
        }
        OwnProcess.show(Table.header)
        for benchmark in chosen { try await benchmark.run(runner) }
        OwnProcess.show(Table.footer)
        return Report(machine: machine, results: runner.results, skipped: runner.skipped)
    }
}
