import CofferVectors
import Testing

@Suite("Order vectors of an independent writer and reader")
struct OrderVectorsTests {
    private let file = FormatVectorFile(
        name: "signed-order.json", algorithm: OrderVectors.algorithm, procedure: OrderVectors.procedure)

    @Test("Every vector has the result or the error that the file states")
    func all() throws {
        let report = try file.run()
        #expect(report.succeeded, "\(report.failures)")
        #expect(report.controlDetected == true)
        #expect(report.accepted >= 40 && report.refused >= 400 && report.skipped.isEmpty)
    }

    @Test("A vector file with one changed digit fails", arguments: [2_000, 100_000, 400_000])
    func changed(place: Int) throws {
        #expect(try !file.runChanged(at: place).succeeded)
    }
}
