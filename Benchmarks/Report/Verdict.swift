/// Whether we are faster than a peer, slower, or neither within the noise of a run.
enum Verdict: Sendable {
    case faster
    case equal
    case slower

    /// Ratios that differ from 1 by at most this many percent are equal: two runs differ by about as much.
    static let band = 3.0

    /// Judges a ratio as it is shown, with three digits after the point; `nil` if it is not a positive
    /// number.
    init?(ratio: Double) {
        guard ratio.isFinite, ratio > 0 else { return nil }
        let thousandths = (ratio * 1000).rounded()
        if thousandths > 1000 + Self.band * 10 {
            self = .faster
        } else if thousandths < 1000 - Self.band * 10 {
            self = .slower
        } else {
            self = .equal
        }
    }

    /// The verdict in a word, which is also its class on the page.
    var word: String {
        switch self {
        case .faster: "faster"
        case .equal: "equal"
        case .slower: "slower"
        }
    }
}

extension Measurement {
    /// The verdict on the ratio; `nil` if there is no peer, or no ratio that means anything.
    var verdict: Verdict? { ratio.flatMap { Verdict(ratio: $0) } }
}
