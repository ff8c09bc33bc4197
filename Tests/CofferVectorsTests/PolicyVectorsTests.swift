import Coffer
import CofferCrypto
import CofferVectors
import Foundation
import Testing
import TestSupport

@Suite("Policy vectors of an independent writer and reader")
struct PolicyVectorsTests {
    private static let folder = PackageRoot.path + "Vectors/"
    private static let name = "signed-policy.json"

    private func contents(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: Self.folder + name)))
    }

    private func run(_ contents: [UInt8]) throws -> VectorReport {
        var manifest = VectorManifest()
        try manifest.add(self.contents(VectorManifest.fileName))
        let runner = VectorRunner(
            manifest: manifest, formats: [PolicyVectors.algorithm: PolicyVectors.procedure])
        return runner.run(contents, path: Self.name)
    }

    @Test("Every vector has the result or the error that the file states")
    func all() throws {
        let report = try run(contents(Self.name))
        #expect(report.succeeded, "\(report.failures)")
        #expect(report.controlDetected == true)
        #expect(report.accepted >= 25 && report.refused >= 400 && report.skipped.isEmpty)
    }

    @Test("A vector file with one changed digit fails", arguments: [2_000, 100_000, 400_000])
    func changed(place: Int) throws {
        var bytes = try contents(Self.name)
        let index = try #require(
            bytes[place...].firstIndex { (UInt8(ascii: "0")...UInt8(ascii: "8")).contains($0) })
        bytes[index] += 1
        #expect(try !run(bytes).succeeded)
    }
}
