import Testing

@testable import BenchReport

@Suite("Verdicts and the summary of a report")
struct VerdictTests {
    @Test(
        "Within 3 % of 1 both sides are equal, both ends included",
        arguments: [
            (0.5, .slower), (0.969, .slower), (0.9694, .slower), (0.9696, .equal), (0.97, .equal),
            (1, .equal), (1.03, .equal), (1.0304, .equal), (1.0306, .faster), (1.031, .faster),
            (4.4, .faster),
        ] as [(Double, Verdict)])
    func band(_ ratio: Double, _ verdict: Verdict) {
        #expect(Verdict(ratio: ratio) == verdict)
    }

    @Test(
        "What is not a positive number has no verdict",
        arguments: [0, -1, .infinity, -.infinity, .nan] as [Double])
    func nothing(_ ratio: Double) {
        #expect(Verdict(ratio: ratio) == nil)
    }

    @Test("The summary counts each result once and knows the best and the worst")
    func summary() {
        let ratios: [Double?] = [2.5, 0.98, nil, 0.4, 1.02, 1, 3]
        let summary = Summary(
            ratios.enumerated().map { Samples.result("gcm-seal/\($0.offset)", $0.element) })
        #expect(summary.faster == 2 && summary.equal == 3 && summary.slower == 1 && summary.alone == 1)
        #expect(summary.best?.name == "gcm-seal/6" && summary.worst?.name == "gcm-seal/3")
    }

    @Test("A ratio without meaning counts as a figure without a peer")
    func meaningless() {
        let timeless = Measurement(
            name: "db-scan", peer: "sqlite", unit: "ns", ours: Distribution([0]), theirs: Distribution([1]),
            samples: 1, note: nil)
        let summary = Summary([timeless, Samples.result("db-point", 0.9)])
        #expect(summary.alone == 1 && summary.slower == 1)
        #expect(summary.best?.name == "db-point" && summary.worst == nil)
        #expect(Samples.page([timeless]).contains("db-scan"))
    }

    @Test("A report without results has an empty summary")
    func empty() {
        let summary = Summary([])
        #expect(summary.faster + summary.equal + summary.slower + summary.alone == 0)
        #expect(summary.best == nil && summary.worst == nil)
    }
}
