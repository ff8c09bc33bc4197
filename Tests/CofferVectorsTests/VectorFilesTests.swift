import CofferCrypto
import CofferVectors
import Foundation
import Testing
import TestSupport

@Suite("Vector files")
struct VectorFilesTests {
    private func reports(in folder: String) throws -> [VectorReport] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        var manifest = VectorManifest()
        if names.contains(VectorManifest.fileName) {
            manifest = try self.manifest(folder)
        }
        let runner = VectorRunner(manifest: manifest)
        return try names.filter { $0.hasSuffix(".json") && $0 != VectorManifest.fileName }.map { name in
            let path = folder + "/" + name
            return runner.run([UInt8](try Data(contentsOf: URL(filePath: path))), path: path)
        }
    }

    private func manifest(_ folder: String) throws -> VectorManifest {
        var manifest = VectorManifest()
        let path = folder + "/" + VectorManifest.fileName
        try manifest.add([UInt8](try Data(contentsOf: URL(filePath: path))))
        return manifest
    }

    @Test("Vectors/: every file passes")
    func own() throws {
        let folder = PackageRoot.path + "Vectors"
        guard FileManager.default.fileExists(atPath: folder) else { return }
        for report in try reports(in: folder) {
            // These are formats of the module above; its tests run their vectors.
            let others = ["FILE-CONTAINER", "RECOVERY-KEY", "SIGNED-ORDER", "SIGNED-POLICY"]
            guard !others.contains(report.algorithm) else { continue }
            #expect(report.succeeded, "\(report.path): \(report.failures)")
            #expect(report.controlDetected == true, "\(report.path)")
        }
    }

    @Test("Wycheproof: every file passes", .enabled(if: PackageRoot.wycheproof != nil, "needs its files"))
    func wycheproof() throws {
        let folder = try #require(PackageRoot.wycheproof)
        let all = try reports(in: folder)
        #expect(all.count >= 11)
        for report in all {
            #expect(report.succeeded, "\(report.path): \(report.failures)")
            #expect(report.controlDetected == true, "\(report.path)")
        }
    }
}
