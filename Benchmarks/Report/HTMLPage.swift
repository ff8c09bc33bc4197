/// The report as one page without scripts and without network access, for narrow and wide screens, light and
/// dark.
package struct HTMLPage {
    private let report: Report
    private let scale: RatioScale

    package init(report: Report) {
        self.report = report
        scale = RatioScale(report.results.compactMap(\.ratio))
    }

    package var text: String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
        <title>Coffer: benchmarks</title>
        <style>
        \(PageStyle.text(band: scale.band))
        </style>
        </head>
        <body>
        <h1>Coffer: benchmarks</h1>
        \(HTMLSummary(report: report).text)
        <p>A ratio is their time / our time: above 1, with a bar to the right, Coffer is faster. All bars \
        share one logarithmic scale, and the band in its middle is \(HTMLSummary.band). Figures are medians, \
        with the least and the greatest in parentheses.</p>
        \(sections.joined(separator: "\n"))
        \(skipped)
        </body>
        </html>

        """
    }

    /// One section for each group that has results, in the order of the table, each family in one place;
    /// families that the table lacks come last.
    private var sections: [String] {
        var families: [String] = []
        var results: [String: [Measurement]] = [:]
        for result in report.results {
            let family = Meaning.family(of: result.name)
            if results[family] == nil { families.append(family) }
            results[family, default: []].append(result)
        }
        let groups = Meaning.groups.map { group in (group.heading, group.meanings.map(\.family)) }
        let other = ("Other", families.filter { Meaning.of($0) == nil })
        return (groups + [other]).compactMap { (heading, members) in
            let present = members.filter { results[$0] != nil }
            guard !present.isEmpty else { return nil }
            let isCompared = present.contains { results[$0]?.contains { $0.verdict != nil } == true }
            let blocks = present.map { family in block(family, results[family] ?? []) }
            return "<section><h2>\(HTMLText.escaped(heading))</h2>\n" + (isCompared ? axis : "")
                + blocks.joined(separator: "\n") + "</section>"
        }
    }

    /// The labels of the scale. The rows say the same in words.
    private var axis: String {
        """
        <div class="row axis" aria-hidden="true"><span class="ends"><span>1/\(scale.end) x, slower</span>\
        <span>1 x</span><span>\(scale.end) x, faster</span></span></div>

        """
    }

    private func block(_ family: String, _ results: [Measurement]) -> String {
        let sentence = Meaning.of(family).map { "<p>\(HTMLText.escaped($0.sentence))</p>\n" } ?? ""
        return "<h3>\(HTMLText.escaped(family))</h3>\n\(sentence)<ul>\n"
            + results.map(row).joined(separator: "\n") + "\n</ul>"
    }

    private func row(_ result: Measurement) -> String {
        let note = result.note.map { "<small>\(HTMLText.escaped($0))</small>" } ?? ""
        let what = "<span class=\"what\">\(HTMLText.escaped(label(result)))\(note)</span>"
        let median = Format.quantity(result.ours.median, result.unit)
        guard let ratio = result.ratio, let verdict = result.verdict, let theirs = result.theirs else {
            return
                "<li class=\"row\">\(what)<span class=\"verdict\"><b>\(HTMLText.escaped(median))</b></span>"
                + "<span class=\"times\">\(HTMLText.escaped(range(result.ours, result)))</span></li>"
        }
        let bar = scale.bar(ratio)
        let other = Format.quantity(theirs.median, result.unit)
        let times = [median, range(result.ours, result) + "; theirs", other, range(theirs, result)]
            .joined(separator: " ")
        return """
            <li class="row \(verdict.word)">\(what)<span class="chart" aria-hidden="true">\
            <i class="band"></i><i class="bar" style="left:\(Format.fixed(bar.start, 2))%;\
            width:\(Format.fixed(bar.width, 2))%"></i></span>\
            <span class="verdict"><b>\(Format.ratio(ratio))</b> \(verdict.word)</span>\
            <span class="times">\(HTMLText.escaped(times))</span></li>
            """
    }

    /// The variant and the peer.
    private func label(_ result: Measurement) -> String {
        let variant = Meaning.variant(of: result.name)
        guard let peer = result.peer else { return variant.isEmpty ? "no peer" : variant + ", no peer" }
        return (variant.isEmpty ? "" : variant + " ") + "against \(peer)"
            + (result.peerVersion.map { " \($0)" } ?? "")
    }

    /// The least and the greatest, if there are several samples.
    private func range(_ value: Distribution, _ result: Measurement) -> String {
        guard result.samples > 1 else { return "(one sample)" }
        return "(\(Format.quantity(value.min, result.unit)) – \(Format.quantity(value.max, result.unit)))"
    }

    /// Each missing peer once for each reason, with the benchmarks that lack it.
    private var skipped: String {
        var reasons: [String] = []
        var names: [String: [String]] = [:]
        for skip in report.skipped {
            let reason = "\(skip.peer ?? "Without a figure"): \(skip.reason)"
            if names[reason] == nil { reasons.append(reason) }
            if names[reason]?.contains(skip.name) != true { names[reason, default: []].append(skip.name) }
        }
        guard !reasons.isEmpty else { return "" }
        let items = reasons.map { reason in
            let list = HTMLText.escaped((names[reason] ?? []).joined(separator: ", "))
            return "<li><b>\(HTMLText.escaped(reason))</b><br>\(list)</li>"
        }
        return "<section class=\"skipped\"><h2>Skipped</h2>\n<ul>\n" + items.joined(separator: "\n")
            + "\n</ul></section>"
    }
}
