/// The report as one page without network access: bars in plain CSS, for narrow screens, light and dark.
struct HTMLPage {
    let report: Report

    var text: String {
        """
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Coffer: benchmarks</title>
        <style>\(Self.style)</style>
        <h1>Coffer: benchmarks</h1>
        <p>\(escaped(report.machine.cpu)), \(report.machine.cores) cores; \(escaped(report.machine.os))<br>
        OpenSSL \(escaped(report.machine.openssl)), Swift \(escaped(report.machine.swift)), \
        \(escaped(report.machine.date))</p>
        <p>Bars are times, medians of at least 9 samples taken in turn: the shorter the faster. The ratio \
        is their \
        time / our time, so above 1 we are faster. Hold the pointer on a bar for the least and the \
        greatest.</p>
        <p class="key"><i class="ours"></i> Coffer <i class="theirs"></i> peer</p>
        \(groups.map(section).joined(separator: "\n"))
        \(skippedSection)
        </html>

        """
    }

    /// Results by the part of their names before the first slash, in order.
    private var groups: [(String, [Measurement])] {
        var groups: [(String, [Measurement])] = []
        for result in report.results {
            let family = result.name.split(separator: "/").first.map { String($0) } ?? result.name
            if groups.last?.0 == family {
                groups[groups.count - 1].1.append(result)
            } else {
                groups.append((family, [result]))
            }
        }
        return groups
    }

    private func section(_ group: (String, [Measurement])) -> String {
        "<section><h2>\(escaped(group.0))</h2>\n" + group.1.map(chart).joined(separator: "\n") + "</section>"
    }

    private func chart(_ result: Measurement) -> String {
        let maxMedian = max(result.ours.median, result.theirs?.median ?? 0)
        let title =
            result.peer.map { "\(result.name) against \($0) \(result.peerVersion ?? "")" } ?? result.name
        var text = "<figure><figcaption><span>\(escaped(title))</span>"
        if let ratio = result.ratio {
            text += "<b class=\"\(ratio >= 1 ? "won" : "lost")\">\(Format.ratio(ratio))</b>"
        }
        text += "</figcaption>" + bar(result.ours, "ours", of: maxMedian, result.unit)
        if let theirs = result.theirs { text += bar(theirs, "theirs", of: maxMedian, result.unit) }
        if let note = result.note { text += "<small>\(escaped(note))</small>" }
        return text + "</figure>"
    }

    private func bar(_ value: Distribution, _ side: String, of maxMedian: Double, _ unit: String) -> String {
        let share = maxMedian > 0 ? value.median / maxMedian * 100 : 0
        let range = Format.quantity(value.min, unit) + " – " + Format.quantity(value.max, unit)
        return """
            <div class="row" title="\(range)"><div class="track"><div class="bar \(side)" \
            style="width:\(Format.fixed(share, 2))%"></div></div>\
            <span>\(Format.quantity(value.median, unit))</span></div>
            """
    }

    private var skippedSection: String {
        guard !report.skipped.isEmpty else { return "" }
        let items = report.skipped.map { skip in
            "<li>\(escaped(skip.name))\(skip.peer.map { " against " + escaped($0) } ?? ""): "
                + "\(escaped(skip.reason))</li>"
        }
        return "<section><h2>Skipped</h2><ul>" + items.joined() + "</ul></section>"
    }

    private func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            default: result.append(character)
            }
        }
    }

    private static let style = """
        :root{color-scheme:light dark;--ground:#fff;--text:#1a1d21;--faint:#5d6670;--track:#eceff2;\
        --ours:#1f6f54;\
        --theirs:#a9b4be;--lost:#a3461c}
        @media(prefers-color-scheme:dark){:root{--ground:#15181b;--text:#e7eaed;--faint:#98a2ac;\
        --track:#23282d;\
        --ours:#4fb48d;--theirs:#66717c;--lost:#e08a5b}}
        *{box-sizing:border-box}
        body{background:var(--ground);color:var(--text);font:16px/1.45 system-ui,sans-serif;max-width:46rem;\
        margin:0 auto;padding:1.25rem 1rem 3rem}
        h1{font-size:1.4rem;margin:0 0 .5rem}h2{font-size:1.05rem;margin:2rem 0 .5rem}
        p,small,li{color:var(--faint);font-size:.9rem;overflow-wrap:anywhere}
        figure{margin:0 0 1rem}figcaption{display:flex;justify-content:space-between;gap:1rem;\
        font-size:.9rem;\
        margin-bottom:.25rem;overflow-wrap:anywhere}
        b{white-space:nowrap;font-variant-numeric:tabular-nums}.won{color:var(--ours)}.lost{color:var(--lost)}
        .row{display:flex;align-items:center;gap:.6rem;margin:.15rem 0}
        .row span{flex:0 0 5rem;text-align:right;font-size:.85rem;font-variant-numeric:tabular-nums}
        .track{flex:1;background:var(--track);border-radius:3px;overflow:hidden}.bar{height:.85rem;\
        min-width:2px}
        .ours{background:var(--ours)}.theirs{background:var(--theirs)}
        .key i{display:inline-block;width:.85rem;height:.85rem;border-radius:2px;vertical-align:-.1rem;\
        margin-left:.8rem}
        .key i:first-child{margin-left:0}
        """
}
