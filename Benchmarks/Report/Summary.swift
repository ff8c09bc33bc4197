/// The results of a report in a few figures.
struct Summary {
    /// The number of comparisons in which we are faster.
    let faster: Int
    /// The number of comparisons without a difference beyond the band.
    let equal: Int
    /// The number of comparisons in which we are slower.
    let slower: Int
    /// The number of figures that are compared with nothing.
    let alone: Int
    /// The comparison with the highest ratio; `nil` if there is none.
    let best: Measurement?
    /// The comparison with the lowest ratio; `nil` if there are fewer than two.
    let worst: Measurement?

    init(_ results: [Measurement]) {
        let compared = results.filter { $0.verdict != nil }
        faster = compared.count { $0.verdict == .faster }
        equal = compared.count { $0.verdict == .equal }
        slower = compared.count { $0.verdict == .slower }
        alone = results.count - compared.count
        best = compared.max { Self.ratio($0) < Self.ratio($1) }
        worst = compared.count > 1 ? compared.min { Self.ratio($0) < Self.ratio($1) } : nil
    }

    private static func ratio(_ result: Measurement) -> Double { result.ratio ?? 1 }
}
