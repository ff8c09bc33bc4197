import Foundation
import Testing
import TestSupport

/// Every input that is kept, through its target: without libFuzzer, in every run of the tests.
@Suite("Kept inputs of the fuzz targets", .serialized)
struct ReplayTests {
    private static let corpus = URL(filePath: PackageRoot.path + "Tests/Fuzz/Corpus")

    private static func names(in folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false)).sorted()
    }

    @Test("There is a folder of inputs for each target, and none without a target")
    func folders() throws {
        #expect(try Self.names(in: Self.corpus) == FuzzTarget.all.map(\.name).sorted())
    }

    @Test("No kept input is a finding, nor any piece of one", arguments: FuzzTarget.all.map(\.name))
    func replay(_ name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let world = try FuzzWorld()
        let folder = Self.corpus.appending(path: name)
        let inputs = try Self.names(in: folder)
        #expect(!inputs.isEmpty)
        for input in inputs {
            let bytes = [UInt8](try Data(contentsOf: folder.appending(path: input)))
            #expect(throws: Never.self, "\(name)/\(input)") { try target.run(bytes, world) }
            for count in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 16)) {
                #expect(throws: Never.self, "\(name)/\(input), the first \(count) bytes") {
                    try target.run(Array(bytes.prefix(count)), world)
                }
            }
        }
    }

    @Test("A refusal is a result, and everything else is a finding")
    func findings() throws {
        let world = try FuzzWorld()
        #expect(throws: FuzzFinding.self) {
            try FuzzTarget("finding") { _, _ in throw FuzzFinding("found") }.run([], world)
        }
        #expect(throws: Never.self) {
            try FuzzTarget("keybag") { bytes, world in
                try #require(FuzzTarget.all.first { $0.name == "keybag" }).run(bytes, world)
            }.run([9, 9, 9], world)
        }
    }
}
