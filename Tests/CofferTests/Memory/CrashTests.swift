import TestSupport
import Testing

/// Swift's crash handler prints registers and the memory that they point to.
@Suite("Crashes print no secret")
struct CrashTests {
    private static let secret = "Hq7-secret-in-a-crash-2Zk9mX4vB6nL0p"
    private static let handler =
        "enable=yes,color=no,interactive=no,symbolicate=off,images=none,sanitize=no,timeout=30s"

    private func crash(_ kind: String) throws -> CommandRun {
        try CommandRun.run(
            Agent.path, ["crash", "none", kind], input: Array((Self.secret + "\n").utf8),
            environment: ["SWIFT_BACKTRACE": Self.handler])
    }

    @Test("Without hardening, the crash handler writes its report", .enabled(if: !Sanitizer.isOn))
    func control() throws {
        let run = try crash("plain")
        #expect(run.code > 128 && run.text == "ready\n")
        #expect(run.errorText.contains("crashed"), "the search is blind: \(run.errorText.prefix(300))")
    }

    @Test("With the hardening that every program applies first, a crash leaves no report")
    func hardened() throws {
        let run = try crash("hardened")
        #expect(run.code > 128 && run.text == "ready\n")
        #expect(!run.errorText.contains("crashed") && !run.errorText.contains("rax"))
        let bytes = Array(Self.secret.utf8)
        for start in 0...bytes.count - 8 {
            #expect(!run.errors.contains(Array(bytes[start..<start + 8])), "\(start)")
        }
    }
}
