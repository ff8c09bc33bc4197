import CofferVault
import Foundation
import SystemPackage
import Testing
import TestSupport

@Suite("Policies and other programs", .timeLimit(.minutes(10)))
struct PolicyPeerTests {
    private static let text = """
        {"AppServiceHosts":["host1","host2:8443"],"AppServiceHostLabels":["A & B","<\u{E4}>"],
        "PasscodeRequired":true,"AllowExport":false,"PasscodeMinimumLength":6,"Later":{"a":[1,-2,true,""]},
        "custom_attributes":{"SHOW_PRINT":"\\"FALSE\\""}}
        """

    private static func has(_ program: String, _ arguments: [String]) -> Bool {
        (try? CommandRun.run(program, arguments).code) == 0
    }

    private func python(_ script: String, _ input: [UInt8]) throws -> [UInt8] {
        let run = try CommandRun.run("python3", ["-c", script], input: input)
        try #require(run.code == 0, "\(run.errorText)")
        return run.output
    }

    private static let fromPlist = """
        import sys, json, plistlib
        json.dump(plistlib.loads(sys.stdin.buffer.read()), sys.stdout)
        """
    private static let toPlist = """
        import sys, json, plistlib
        sys.stdout.buffer.write(plistlib.dumps(json.load(sys.stdin)))
        """

    @Test(
        "Python reads what is written here, and what Python writes is read here",
        .enabled(if: has("python3", ["-c", "import plistlib"]), "needs python3"))
    func python() throws {
        let original = PolicyDocument(reading: Array(Self.text.utf8), as: .json)
        #expect(original.isValid)
        let json = try original.encoded(as: .json)
        let byPython = try python(Self.fromPlist, original.encoded(as: .propertyList))
        let read = PolicyDocument(reading: byPython, as: .json)
        #expect(try read.encoded(as: .json) == json)
        let written = PolicyDocument(reading: try python(Self.toPlist, json), as: .propertyList)
        #expect(written.values == original.values && original.values.count == 6)
        #expect(try written.encoded(as: .json) == json)
    }

    @Test(
        "plistutil reads what is written here, and what it writes is read here; its binary form is refused",
        .enabled(if: has("plistutil", ["--version"]), "needs libplist-utils"))
    func plistutil() throws {
        let scratch = try ScratchDirectory.make()
        let original = PolicyDocument(reading: Array(Self.text.utf8), as: .json)
        try scratch.write("in.plist", original.encoded(as: .propertyList))
        for (name, format) in [("out.bin", "bin"), ("out.plist", "xml")] {
            let source = format == "bin" ? "in.plist" : "out.bin"
            let run = try CommandRun.run(
                "plistutil",
                ["-i", scratch.path(of: source), "-o", scratch.path(of: name), "-f", format])
            #expect(run.code == 0, "\(run.errorText)")
        }
        #expect(try !PolicyDocument(reading: scratch.read("out.bin"), as: .propertyList).isValid)
        let back = PolicyDocument(reading: try scratch.read("out.plist"), as: .propertyList)
        #expect(back.values == original.values)
        #expect(try back.encoded(as: .json) == original.encoded(as: .json))
    }
}
