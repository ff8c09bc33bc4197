/// The head of the page: the results in a few figures, and where they come from.
struct HTMLSummary {
    let report: Report

    /// The range of ratios that count as equal.
    static let band = "±\(Format.fixed(Verdict.band, 0)) %"

    var text: String {
        let summary = Summary(report.results)
        let facts = (results(summary) + origin).map { "<dt>\($0.0)</dt><dd>\(HTMLText.escaped($0.1))</dd>" }
        return """
            <ul class="counts"><li class="faster"><b>\(summary.faster)</b> faster</li>\
            <li class="equal"><b>\(summary.equal)</b> equal within \(Self.band)</li>\
            <li class="slower"><b>\(summary.slower)</b> slower</li></ul>
            <dl>
            \(facts.joined(separator: "\n"))
            </dl>
            """
    }

    private func results(_ summary: Summary) -> [(String, String)] {
        var facts: [(String, String)] = []
        if let best = summary.best { facts.append(("Best", line(best))) }
        if let worst = summary.worst { facts.append(("Worst", line(worst))) }
        if summary.alone > 0 {
            facts.append(("No peer", summary.alone == 1 ? "1 figure" : "\(summary.alone) figures"))
        }
        if !report.skipped.isEmpty { facts.append(("Skipped", "\(report.skipped.count), listed at the end")) }
        return facts
    }

    private var origin: [(String, String)] {
        let machine = report.machine
        var facts = [
            ("Machine", "\(machine.cpu), \(machine.cores) cores"), ("System", machine.os),
            ("OpenSSL", machine.openssl), ("Swift", machine.swift), ("Date", machine.date),
        ]
        if let quick = report.quick {
            facts.append(("Run", quick ? "quick: fewer and shorter samples, smaller files" : "full"))
        }
        return facts
    }

    private func line(_ result: Measurement) -> String {
        let ratio = result.ratio.map { Format.ratio($0) } ?? "–"
        return "\(ratio), \(result.name) against \(result.peer ?? "–")"
    }
}
