/// The logarithmic scale that all bars of a page share, with 1 in the middle: twice as fast is as far to the
/// right as half as fast is to the left.
struct RatioScale {
    /// The number of doublings from the middle to either end.
    let doublings: Int

    /// More than a million to one is no comparison; such a bar ends at the edge.
    private static let limit = 20.0

    /// The smallest scale of whole doublings that holds all these ratios; others are ignored.
    init(_ ratios: [Double]) {
        let distances = ratios.filter { $0.isFinite && $0 > 0 }.map { Self.logarithm($0).magnitude }
        doublings = Int(min(max(distances.max() ?? 1, 1), Self.limit).rounded(.up))
    }

    /// The place of a ratio in percent of the width, from 0 to 100; 50 for 1 and for what is not a positive
    /// number.
    func position(_ ratio: Double) -> Double {
        guard ratio.isFinite, ratio > 0 else { return 50 }
        return min(max(50 + 50 * Self.logarithm(ratio) / Double(doublings), 0), 100)
    }

    /// The span of a bar in percent of the width, from the middle to the ratio.
    func bar(_ ratio: Double) -> (start: Double, width: Double) { span(1, ratio) }

    /// The span of the neutral band.
    var band: (start: Double, width: Double) {
        span(1 - Verdict.band / 100, 1 + Verdict.band / 100)
    }

    /// The ratio at the right end; the left end is its reciprocal.
    var end: Int { 1 << doublings }

    private func span(_ first: Double, _ second: Double) -> (start: Double, width: Double) {
        let (one, other) = (position(first), position(second))
        return (min(one, other), (one - other).magnitude)
    }

    /// The logarithm to base 2 of a positive number.
    ///
    /// The standard library has none, and a C library is imported by the peers only.
    static func logarithm(_ ratio: Double) -> Double {
        // ln m = 2 artanh((m - 1) / (m + 1)); for the significand, 1 ≤ m < 2, its series converges quickly.
        let quotient = (ratio.significand - 1) / (ratio.significand + 1)
        var power = quotient
        var sum = 0.0
        for odd in stride(from: 1.0, to: 32, by: 2) {
            sum += power / odd
            power *= quotient * quotient
        }
        return Double(ratio.exponent) + 2 * sum / 0.693_147_180_559_945_3
    }
}
