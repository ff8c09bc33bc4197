import CofferVectors
import Foundation
import Testing
import TestSupport

/// A vector file of a format that a module above this one defines, with the procedure for it.
struct FormatVectorFile {
    let name: String
    let algorithm: String
    let procedure: VectorTest

    private func contents(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: PackageRoot.path + "Vectors/" + name)))
    }

    private func run(_ bytes: [UInt8]) throws -> VectorReport {
        var manifest = VectorManifest()
        try manifest.add(contents(VectorManifest.fileName))
        return VectorRunner(manifest: manifest, formats: [algorithm: procedure]).run(bytes, path: name)
    }

    /// Runs the file's tests.
    func run() throws -> VectorReport { try run(contents(name)) }

    /// Runs the file's tests after a change of the first digit from `place` on.
    func runChanged(at place: Int) throws -> VectorReport {
        var bytes = try contents(name)
        let index = try #require(
            bytes[place...].firstIndex { (UInt8(ascii: "0")...UInt8(ascii: "8")).contains($0) })
        bytes[index] += 1
        return try run(bytes)
    }
}
