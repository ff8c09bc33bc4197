@testable import BenchReport

/// Reports with chosen ratios.
enum Samples {
    static let machine = MachineDescription(
        cpu: "A processor", cores: 2, os: "Linux", openssl: "3.0.19", swift: "6.3.1",
        date: "2026-01-31T12:00:00Z")

    /// A result whose peer takes `ratio` times as long; without a ratio, one without a peer.
    static func result(
        _ name: String, _ ratio: Double? = nil, peer: String = "openssl", version: String? = "3.0.19",
        note: String? = nil
    ) -> Measurement {
        guard let ratio else {
            return Measurement(name: name, unit: "ns", ours: Distribution([1000]), samples: 1, note: note)
        }
        return Measurement(
            name: name, peer: peer, peerVersion: version, unit: "ns", ours: Distribution([900, 1000, 1100]),
            theirs: Distribution([1000 * ratio]), samples: 3, note: note)
    }

    static func report(
        _ results: [Measurement], quick: Bool? = false, skipped: [Skip] = []
    ) -> Report {
        Report(machine: machine, quick: quick, results: results, skipped: skipped)
    }

    static func page(_ results: [Measurement], quick: Bool? = false, skipped: [Skip] = []) -> String {
        HTMLPage(report: report(results, quick: quick, skipped: skipped)).text
    }

    /// The number of times that a text stands in another.
    static func count(_ part: String, in text: String) -> Int { text.ranges(of: part).count }
}
