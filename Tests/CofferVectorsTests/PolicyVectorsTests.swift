import CofferVectors
import Testing

@Suite("Policy vectors of an independent writer and reader")
struct PolicyVectorsTests {
    private let file = FormatVectorFile(
        name: "signed-policy.json", algorithm: PolicyVectors.algorithm, procedure: PolicyVectors.procedure)

    @Test("Every vector has the result or the error that the file states")
    func all() throws {
        let report = try file.run()
        #expect(report.succeeded, "\(report.failures)")
        #expect(report.controlDetected == true)
        #expect(report.accepted >= 25 && report.refused >= 400 && report.skipped.isEmpty)
    }

    @Test("A vector file with one changed digit fails", arguments: [2_000, 100_000, 400_000])
    func changed(place: Int) throws {
        #expect(try !file.runChanged(at: place).succeeded)
    }
}
