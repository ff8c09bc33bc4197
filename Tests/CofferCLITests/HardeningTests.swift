import Foundation
import Testing
import TestSupport

@Suite("The command as a program: how it is linked, and what it leaves when it crashes")
struct HardeningTests {
    @Test("Every symbol is bound at the start, so that no later binding leaves registers on the stack")
    func immediateBinding() throws {
        let run = try CommandRun.run("readelf", ["-d", CommandRun.cofferPath])
        try #require(run.code == 0, "\(run.errorText)")
        #expect(run.text.contains("BIND_NOW"))
        let headers = try CommandRun.run("readelf", ["-lW", CommandRun.cofferPath]).text
        #expect(headers.contains("GNU_RELRO"))
        // The stack is readable and writable, and nothing more. The flags, which may contain spaces, stand
        // between the type with five numbers and the alignment.
        let stack = headers.split(separator: "\n").first { $0.contains("GNU_STACK") }
        let flags = stack?.split(whereSeparator: \.isWhitespace).dropFirst(6).dropLast().joined()
        #expect(flags == "RW")
    }

    @Test(
        "Programs without OAuth link neither libcurl nor libssl",
        arguments: [CommandRun.cofferPath, CommandRun.programs + "TestAgent"])
    func noNetworkLibrary(_ program: String) throws {
        let run = try CommandRun.run("readelf", ["-d", program])
        try #require(run.code == 0, "\(run.errorText)")
        let needed = run.text.split(separator: "\n").filter { $0.contains("(NEEDED)") }
        // What is searched for can be found.
        #expect(needed.contains { $0.contains("libcrypto.so") }, "\(needed)")
        #expect(!needed.contains { $0.contains("libcurl") || $0.contains("libssl") }, "\(needed)")
    }

    @Test("The loader finds nothing left to bind while the command runs")
    func effect() throws {
        let run = try CommandRun.run(
            CommandRun.cofferPath, ["--help"], environment: ["LD_DEBUG": "bindings,statistics"])
        #expect(run.code == 0)
        let lines = run.errorText.split(separator: "\n")
        #expect(lines.contains { $0.contains("binding file") }, "the loader says nothing")
        let start = try #require(
            lines.firstIndex {
                $0.contains("transferring control") || $0.contains("initialize program")
            }, "The loader does not say when the program begins.")
        let later = lines[start...].filter { $0.contains("binding file \(CommandRun.cofferPath)") }
        #expect(later.isEmpty, "\(later.prefix(3))")
    }

    @Test("A crash while it holds a secret prints nothing, whatever the crash handler is set to")
    func crash() throws {
        let home = try CommandHome()
        let content = "content-5b0e-of-a-crash"
        let id = try home.add(try home.file("letter.txt", Array(content.utf8)))
        let handler = "enable=yes,color=no,interactive=no,symbolicate=off,images=none,sanitize=no,timeout=30s"
        let run = try home.run(
            ["file", "view", id, "--", "sh", "-c", "kill -SEGV $PPID; exec sleep 5", "sh", "{}"],
            // What the crash leaves lies where no other test counts it.
            environment: ["SWIFT_BACKTRACE": handler, "XDG_RUNTIME_DIR": ""])
        #expect(run.code == 139)
        let said = run.text + run.errorText
        #expect(!said.contains("crashed") && !said.contains("rax") && !said.contains(content))
    }
}
