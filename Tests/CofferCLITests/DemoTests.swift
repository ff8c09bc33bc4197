import Foundation
import Testing
import TestSupport

@Suite("coffer demo")
struct DemoTests {
    private func demo(_ path: String?) throws -> CommandRun {
        try CommandRun.run(CommandRun.cofferPath, ["demo"] + (path.map { [$0] } ?? []) + ["--json"])
    }

    private func expectHeld(_ run: CommandRun) throws {
        #expect(run.code == 0 && run.json["held"] as? Bool == true, "\(run.text)")
        let steps = try #require(run.json["steps"] as? [[String: Any]])
        #expect(steps.count >= 8)
        for step in steps {
            #expect((step["title"] as? String)?.isEmpty == false)
            #expect((step["proof"] as? String)?.isEmpty == false && step["held"] as? Bool == true)
            #expect(step["milliseconds"] is Double)
        }
    }

    @Test("The demonstration holds on a sample, and says so line by line")
    func sample() throws {
        try expectHeld(demo(nil))
        let run = try CommandRun.coffer("demo")
        #expect(run.code == 0 && run.text.hasSuffix("checks passed.\n") && !run.text.contains("FAIL"))
    }

    @Test("The demonstration holds on empty, short, uniform and random files, which stay as they are")
    func files() throws {
        let folder = try ScratchDirectory.make()
        for (name, bytes) in [
            ("empty", []), ("short", Array("just a few words in it".utf8)),
            ("zeros", [UInt8](repeating: 0, count: 70_000)),
            ("random bytes.bin", (0..<100_000).map { _ in UInt8.random(in: 0...255) }),
        ] as [(String, [UInt8])] {
            let path = folder.path(of: name)
            try Data(bytes).write(to: URL(filePath: path))
            try expectHeld(demo(path))
            #expect(FileManager.default.contents(atPath: path) == Data(bytes))
        }
    }

    @Test("The demonstration holds on a name with a newline and bytes that are no UTF-8")
    func name() throws {
        let folder = try ScratchDirectory.make()
        let script = """
            name="$1/$(printf 'odd\\nname\\377\\376.bin')"
            printf 'some content in an oddly named file' >"$name"
            exec "$0" demo "$name" --json
            """
        try expectHeld(CommandRun.run("sh", ["-c", script, CommandRun.cofferPath, folder.path(of: ".")]))
    }

    @Test("A path that is no regular file is refused")
    func refused() throws {
        for (path, code) in [("/", 64), ("/etc", 11), ("/nowhere/at/all", 3), ("/dev/zero", 11)]
            as [(String, Int32)]
        {
            let run = try demo(path)
            #expect(run.code == code && run.errorCode != nil, "\(path)")
        }
    }
}
