import Coffer
import CofferCrypto
import CofferVectors
import Foundation
import Testing
import TestSupport

@Suite("Container vectors of an independent writer and reader")
struct ContainerVectorsTests {
    private static let folder = PackageRoot.path + "Vectors/"

    private func contents(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: Self.folder + name)))
    }

    private func run(_ contents: [UInt8]) throws -> VectorReport {
        var manifest = VectorManifest()
        try manifest.add(self.contents(VectorManifest.fileName))
        let runner = VectorRunner(
            manifest: manifest, formats: [ContainerVectors.algorithm: ContainerVectors.procedure])
        return runner.run(contents, path: "file-container.json")
    }

    @Test("Every vector has the result or the error that the file states")
    func all() throws {
        let report = try run(contents("file-container.json"))
        #expect(report.succeeded, "\(report.failures)")
        #expect(report.controlDetected == true)
        #expect(report.accepted >= 40 && report.refused >= 100 && report.skipped.isEmpty)
    }

    @Test("A vector file with one changed digit fails", arguments: [2_000, 200_000, 1_200_000])
    func changed(place: Int) throws {
        var bytes = try contents("file-container.json")
        let index = try #require(
            bytes[place...].firstIndex { (UInt8(ascii: "0")...UInt8(ascii: "8")).contains($0) })
        bytes[index] += 1
        #expect(try !run(bytes).succeeded)
    }

    @Test("Without the procedure, the runner skips the file by name and does not pass it")
    func unknown() throws {
        let report = VectorRunner().run(try contents("file-container.json"), path: "file-container.json")
        #expect(!report.succeeded && report.skipped.keys.sorted() == ["not-implemented"])
    }
}
