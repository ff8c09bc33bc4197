import BenchReport

/// The table for the terminal, printed line by line as figures arrive.
enum Table {
    static let header =
        Format.pad("benchmark", 24) + Format.pad("peer", 14) + Format.pad("ours", 10, left: true)
        + Format.pad("(min – max)", 22, left: true) + Format.pad("theirs", 10, left: true)
        + Format.pad("ratio", 10, left: true)

    static let footer =
        "ratio = their time / our time: above 1 we are faster; ciphers and derivations by processor time"

    /// What a benchmark measures, for a line of its own.
    static func row(_ meaning: Meaning) -> String { meaning.family + ": " + meaning.sentence }

    static func row(_ result: Measurement) -> String {
        let range =
            "(" + Format.quantity(result.ours.min, result.unit) + " – "
            + Format.quantity(result.ours.max, result.unit) + ")"
        let line =
            Format.pad(result.name, 24) + Format.pad(result.peer ?? "–", 14)
            + Format.pad(Format.quantity(result.ours.median, result.unit), 10, left: true)
            + Format.pad(range, 22, left: true)
            + Format.pad(
                result.theirs.map { Format.quantity($0.median, result.unit) } ?? "–", 10, left: true)
            + Format.pad(result.ratio.map(Format.ratio) ?? "–", 10, left: true)
        return line + (result.note.map { "  \($0)" } ?? "")
    }

    static func row(_ skip: Skip) -> String {
        Format.pad(skip.name, 24) + Format.pad(skip.peer ?? "–", 14) + "skipped: " + skip.reason
    }
}
