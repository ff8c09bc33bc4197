import Testing

@testable import BenchReport

@Suite("The scale of the bars")
struct RatioScaleTests {
    /// Whether two numbers are equal but for rounding.
    private func isClose(_ one: Double, _ other: Double) -> Bool { (one - other).magnitude < 1e-9 }

    @Test(
        "Logarithms",
        arguments: [
            (1, 0), (2, 1), (0.5, -1), (1024, 10), (3, 1.584_962_500_721_156),
            (0.97, -0.043_943_347_587_597_06), (1.999_999, 0.999_999_278_652_299_3),
            (1e-300, -996.578_428_466_209),
        ] as [(Double, Double)])
    func logarithm(_ value: Double, _ expected: Double) {
        #expect(isClose(RatioScale.logarithm(value), expected))
    }

    @Test(
        "The scale holds every ratio in whole doublings, at least one, and at most twenty",
        arguments: [
            ([], 1), ([1.01], 1), ([2], 1), ([2.01], 2), ([0.5], 1), ([0.49], 2), ([0.3, 4.4], 3),
            ([0, -2, .nan, .infinity], 1), ([1e300], 20),
        ] as [([Double], Int)])
    func doublings(_ ratios: [Double], _ expected: Int) {
        let scale = RatioScale(ratios)
        #expect(scale.doublings == expected && scale.end == 1 << expected)
    }

    @Test("1 is in the middle, a ratio and its reciprocal are as far from it, and the ends are the ends")
    func positions() {
        let scale = RatioScale([4])
        #expect(isClose(scale.position(1), 50))
        #expect(isClose(scale.position(4), 100) && isClose(scale.position(0.25), 0))
        #expect(isClose(scale.position(2), 75) && isClose(scale.position(0.5), 25))
        #expect(isClose(scale.position(3) - 50, 50 - scale.position(1 / 3)))
        #expect(scale.position(100) == 100 && scale.position(0.001) == 0)
        #expect(scale.position(.nan) == 50 && scale.position(0) == 50 && scale.position(.infinity) == 50)
    }

    @Test("Bars begin in the middle: to the right above 1, to the left below")
    func bars() {
        let scale = RatioScale([4])
        let (right, left) = (scale.bar(2), scale.bar(0.5))
        #expect(isClose(right.start, 50) && isClose(right.width, 25))
        #expect(isClose(left.start, 25) && isClose(left.width, 25))
        #expect(scale.bar(1).width == 0)
        let band = scale.band
        #expect(band.start < 50 && band.start + band.width > 50 && band.width < 3)
    }
}
