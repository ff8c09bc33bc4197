import CofferBase
import CofferCrypto
import CofferVectors
import Testing

@Suite("Vector manifest")
struct VectorManifestTests {
    private let contents = VectorSamples.gcmFile([VectorSamples.gcm + ", \"comment\": \"a word\""])

    private func run(
        _ contents: [UInt8], name: String = "known.json", declared: Int = 1, skipped: String = "{}"
    ) throws -> VectorReport {
        let digest = HexText.encode(try Digest.sha256.hash(self.contents.span))
        let text = """
            {"sets": [{"name": "Somebody", "commit": "0123456789abcdef", "files": [{"file": "known.json",
             "sha256": "\(digest)", "declared": \(declared),
             "expected": {"accepted": 1, "refused": 0, "acceptable": 0, "skipped": \(skipped)}}]}]}
            """
        var manifest = VectorManifest()
        try manifest.add(Array(text.utf8))
        return VectorRunner(manifest: manifest).run(contents, path: "some/folder/\(name)")
    }

    @Test("A known file must be what it was and come out as it did")
    func known() throws {
        let report = try run(contents)
        #expect(report.succeeded && report.source == "Somebody@0123456")
        #expect(try run(contents, declared: 2).failed == 1)
        #expect(try run(contents, skipped: "{\"slow\": 1}").failed == 1)
    }

    @Test("A changed byte that no test would notice is noticed")
    func changed() throws {
        let changed = Array(
            String(decoding: contents, as: UTF8.self).replacing("a word", with: "a work").utf8)
        #expect(VectorRunner().run(changed, path: "known.json").succeeded)
        #expect(try run(changed).failed == 1)
        #expect(try run(changed, name: "other.json").succeeded)
    }

    @Test(
        "A damaged manifest is an error",
        arguments: [
            "", "[]", "{}", "{\"sets\": [{}]}", "{\"sets\": [{\"name\": \"a\", \"files\": [{}]}]}",
            "{\"sets\": [{\"name\": \"a\", \"files\": [{\"file\": \"a\", \"sha256\": \"00\"}]}]}",
        ])
    func damaged(_ text: String) {
        #expect(throws: CofferError.self) {
            var manifest = VectorManifest()
            try manifest.add(Array(text.utf8))
        }
    }
}
