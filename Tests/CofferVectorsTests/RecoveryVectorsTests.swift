import CofferVectors
import Testing

@Suite("Recovery-key vectors of an independent writer and reader")
struct RecoveryVectorsTests {
    private let file = FormatVectorFile(
        name: "recovery-key.json", algorithm: RecoveryVectors.algorithm, procedure: RecoveryVectors.procedure)

    @Test("Every vector has the result that the file states")
    func all() throws {
        let report = try file.run()
        #expect(report.succeeded, "\(report.failures)")
        #expect(report.controlDetected == true)
        #expect(report.accepted == 27 && report.refused == 341 && report.skipped.isEmpty)
    }

    @Test("A vector file with one changed digit fails", arguments: [2_000, 100_000, 400_000])
    func changed(place: Int) throws {
        #expect(try !file.runChanged(at: place).succeeded)
    }
}
