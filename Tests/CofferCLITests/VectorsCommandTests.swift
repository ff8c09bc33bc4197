import Foundation
import Testing
import TestSupport

@Suite("coffer vectors verify")
struct VectorsCommandTests {
    /// RFC 4231 section 4.2 and 4.3, and the first with a wrong tag.
    private static let mac = """
        {"algorithm": "HMACSHA256", "numberOfTests": 3, "notes": {"Good": {}, "Bad": {}},
         "testGroups": [{"type": "MacTest", "keySize": 160, "tagSize": 256, "tests": [
           {"tcId": 1, "flags": ["Good"], "key": "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
            "msg": "4869205468657265", "result": "valid",
            "tag": "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
           {"tcId": 2, "flags": ["Bad"], "key": "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
            "msg": "4869205468657265", "result": "invalid",
            "tag": "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff6"}]},
          {"type": "MacTest", "keySize": 32, "tagSize": 256, "tests": [
           {"tcId": 3, "flags": ["Good"], "key": "4a656665", "result": "valid",
            "msg": "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
            "tag": "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"}]}]}
        """

    private static let unknown = """
        {"algorithm": "ROT13", "numberOfTests": 4, "testGroups": []}
        """

    /// Writes the files, runs the command on their folder and removes them.
    private func verify(
        _ files: [String: String], _ options: [String] = ["--json"]
    ) throws -> (run: CommandRun, junit: String) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "coffer-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder.appending(path: "below"), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in files { try Data(text.utf8).write(to: folder.appending(path: name)) }
        let junit = folder.appending(path: "report.xml")
        let run = try CommandRun.run(
            CommandRun.cofferPath,
            [
                "vectors", "verify", folder.path(percentEncoded: false), "--junit",
                junit.path(percentEncoded: false),
            ]
                + options)
        return (run, (try? String(contentsOf: junit, encoding: .utf8)) ?? "")
    }

    @Test("The JSON document has the agreed members, and folders are searched")
    func document() throws {
        let (run, junit) = try verify(["a.json": Self.mac, "below/b.json": Self.mac, "readme.md": "no"])
        #expect(run.code == 0 && run.errors.isEmpty)
        for (member, value) in ["total": 6, "passed": 6, "refused": 2, "failed": 0, "skipped": 0] {
            #expect(run.json[member] as? Int == value)
        }
        let files = try #require(run.json["files"] as? [[String: Any]])
        #expect(files.count == 2)
        for file in files {
            #expect((file["path"] as? String)?.hasSuffix(".json") == true)
            #expect(file["algorithm"] as? String == "HMACSHA256")
            #expect(file["total"] as? Int == 3 && file["passed"] as? Int == 3 && file["failed"] as? Int == 0)
            #expect((file["skipped"] as? [Any])?.isEmpty == true)
            #expect((file["failures"] as? [Any])?.isEmpty == true)
        }
        let control = run.json["negativeControl"] as? [String: Int]
        #expect(control == ["detected": 1, "total": 1])
        #expect(junit.contains("tests=\"3\" failures=\"0\" skipped=\"0\""))
    }

    @Test("Without the processor's instructions the results are the same, and the output says so")
    func portable() throws {
        let found = try verify(["a.json": Self.mac]).run
        let masked = try verify(["a.json": Self.mac], ["--json", "--portable"]).run
        #expect(masked.code == 0 && masked.errors.isEmpty && masked.json["passed"] as? Int == 3)
        let provider = try #require(masked.json["provider"] as? [String: Any])
        #expect(provider["portable"] as? Bool == true)
        #expect(provider["pbkdf2Sha256"] as? String == "OpenSSL's compression function")
        #expect((found.json["provider"] as? [String: Any])?["portable"] as? Bool == false)
        let derivation = """
            {"algorithm": "PBKDF2-HMACSHA256", "numberOfTests": 1, "testGroups": [
            {"type": "PbkdfTest", "tests": [
            {"tcId": 1, "password": "50617373776f7264", "salt": "4e61436c", "iterationCount": 80000,
            "dkLen": 16, "dk": "4ddcd8f60b98be21830cee5ef22701f9", "result": "valid"}]}]}
            """
        let table = try verify(["a.json": derivation], ["--portable"]).run
        #expect(table.code == 0 && table.text.contains("processor features masked"))
    }

    @Test("An unknown algorithm is listed as skipped and does not pass")
    func unknownAlgorithm() throws {
        let (run, junit) = try verify(["a.json": Self.mac, "b.json": Self.unknown])
        #expect(run.code == 1)
        #expect(run.json["passed"] as? Int == 3 && run.json["skipped"] as? Int == 4)
        let files = try #require(run.json["files"] as? [[String: Any]])
        let skipped = files.last?["skipped"] as? [[String: Any]]
        #expect(skipped?.first?["reason"] as? String == "not-implemented")
        #expect(skipped?.first?["count"] as? Int == 4)
        #expect(junit.contains("<skipped message=\"not-implemented\"/>"))
        let table = try verify(["b.json": Self.unknown], []).run
        #expect(table.code == 1 && table.text.contains("skipped: not implemented"))
    }

    @Test("One changed byte is a failure with the test's number")
    func changedByte() throws {
        let text = Self.mac.replacingOccurrences(of: "6e6f7468696e673f", with: "6e6f7468696e673e")
        let (run, junit) = try verify(["a.json": text])
        #expect(run.code == 1 && run.json["failed"] as? Int == 1 && run.json["passed"] as? Int == 2)
        let files = try #require(run.json["files"] as? [[String: Any]])
        let failures = try #require(files.first?["failures"] as? [[String: Any]])
        #expect(failures.first?["tcId"] as? Int == 3 && failures.first?["comment"] is String)
        #expect(junit.contains("<failure message="))
    }

    @Test("Nothing to run is a failure")
    func nothing() throws {
        #expect(try verify([:]).run.code == 1)
        #expect(try verify(["a.json": "{}"]).run.code == 1)
        #expect(try verify(["a.json": "not JSON"]).run.code == 1)
        let nowhere = try CommandRun.coffer("vectors", "verify", "/nowhere/at/all")
        #expect(nowhere.code == 3 && nowhere.output.isEmpty)
        #expect(nowhere.errorText == "coffer: There is no file or directory /nowhere/at/all.\n")
    }

    @Test("The table for people ends with the sum")
    func table() throws {
        let run = try verify(["a.json": Self.mac], []).run
        let lines = run.text.split(separator: "\n")
        #expect(run.code == 0 && lines.first?.hasPrefix("algorithm") == true)
        #expect(lines.last == "3 tests in 1 files: 2 equal, 1 refused, 0 failed, 0 skipped")
        #expect(run.text.contains("negative control: 1/1"))
    }
}
