import BenchReport

/// The change of the ratios since an earlier report; without a peer, the change of our time.
struct Comparison {
    let old: Report
    let new: Report

    var lines: [String] {
        var lines = ["", "Since \(old.machine.date) on \(old.machine.cpu):"]
        if old.machine.cpu != new.machine.cpu { lines.append("Another machine: compare with care.") }
        lines += new.results.map(line)
        let names = Set(new.results.map(key))
        for gone in old.results where !names.contains(key(gone)) {
            lines.append(Format.pad(gone.name, 24) + Format.pad(gone.peer ?? "–", 14) + "not measured now")
        }
        return lines
    }

    private func line(_ now: Measurement) -> String {
        let start = Format.pad(now.name, 24) + Format.pad(now.peer ?? "–", 14)
        guard let before = old.results.first(where: { key($0) == key(now) }) else { return start + "new" }
        if let then = before.ratio, let ratio = now.ratio {
            return start + Format.pad(Format.ratio(then), 10, left: true) + "  → "
                + Format.pad(Format.ratio(ratio), 10, left: true) + "  " + percent(ratio / then)
        }
        return start + Format.pad(Format.quantity(before.ours.median, before.unit), 10, left: true) + "  → "
            + Format.pad(Format.quantity(now.ours.median, now.unit), 10, left: true) + "  "
            + percent(now.ours.median / before.ours.median)
    }

    private func key(_ result: Measurement) -> String { "\(result.name) \(result.peer ?? "")" }

    private func percent(_ factor: Double) -> String {
        let change = (factor - 1) * 100
        return (change >= 0 ? "+" : "") + Format.fixed(change, 1) + " %"
    }
}
