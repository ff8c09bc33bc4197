import Foundation
import Synchronization
import Testing
import TestSupport

@Suite("Wrong passcodes")
struct AttemptTests {
    private func wrong(_ home: CommandHome, _ number: Int) throws -> Int32 {
        try home.run(["unlock"], passcode: "wrong-\(number)").code
    }

    @Test("The tenth wrong passcode erases; the right one is then too late")
    func tenth() throws {
        let home = try CommandHome("--attempt-delays", "off")
        for number in 1...9 {
            #expect(try wrong(home, number) == 5)
            #expect(try home.status()["attemptsLeft"] as? Int == 10 - number)
        }
        let warning = "One attempt is left: the next wrong passcode erases this vault."
        #expect(try home.run(["unlock"], passcode: "wrong-9").errorText.hasSuffix(warning + "\n"))
        #expect(try wrong(home, 10) == 6)
        // Too late.
        for command in [["token", "list"], ["unlock"], ["file", "list"]] {
            #expect(try home.run(command).code == 6, "\(command)")
        }
        #expect(try home.status()["state"] as? String == "wiped")
    }

    @Test("With --erase-after never, 30 wrong passcodes erase nothing, and every text says so")
    func never() throws {
        let home = try CommandHome("--attempt-delays", "off", "--erase-after", "never")
        for number in 1...30 { #expect(try wrong(home, number) == 5, "\(number)") }
        let run = try home.run(["unlock"], passcode: "wrong-30")
        #expect(run.code == 5 && run.errorText.hasSuffix("Wrong passcodes never erase this vault.\n"))
        let status = try home.status()
        #expect(status["attemptsLeft"] is NSNull && status["eraseAfter"] is NSNull)
        #expect(status["state"] as? String == "locked")
        #expect(try home.run(["status"], passcode: "").text.contains("eraseAfter: never\n"))
        let prompt = try TerminalRun.coffer(["wrong-31"], ["token", "list", "--home", home.path])
        #expect(prompt.code == 5 && !prompt.shown.contains("next wrong"), "\(prompt.shown)")
        // To erase again needs the passcode now, which resets the count.
        let tighter = ["settings", "--erase-after", "10", "--json"]
        let refused = try home.run(tighter, passcode: "")
        #expect(refused.code == 4 && refused.errorText.contains("--passcode-fd"), "\(refused.errorText)")
        #expect(refused.errorText.contains("At least ten wrong passcodes"))
        let run10 = try home.run(tighter)
        #expect(run10.code == 0 && run10.json["eraseAfter"] as? Int == 10, "\(run10.errorText)")
        #expect(try home.status()["attemptsLeft"] as? Int == 10)
        #expect(try home("token", "list").code == 0)
    }

    @Test("A right passcode after nine wrong ones resets the count")
    func resets() throws {
        let home = try CommandHome("--attempt-delays", "off")
        for number in 1...9 { #expect(try wrong(home, number) == 5) }
        #expect(try home("token", "list").code == 0)
        #expect(try home.status()["attemptsLeft"] as? Int == 10)
        #expect(try wrong(home, 10) == 5)
    }

    @Test("The same wrong passcode counts once")
    func identical() throws {
        let home = try CommandHome("--attempt-delays", "off")
        for _ in 1...12 { #expect(try wrong(home, 1) == 5) }
        #expect(try home.status()["attemptsLeft"] as? Int == 9)
    }

    @Test(
        "Right passcodes for which memory is short never erase",
        .enabled(if: !Sanitizer.isOn, "a sanitizer takes more than that itself"))
    func shortMemory() throws {
        let home = try CommandHome("--attempt-delays", "off", "--kdf-memory", "256")
        let limit = ["/bin/sh", "-c", "ulimit -d 200000; exec \"$@\"", "sh"]
        for number in 1...12 {
            let run = try home.run(["unlock", "--json"], before: limit)
            #expect(run.code == 1 && run.errorCode == "outOfMemory", "\(number): \(run.errorText)")
            #expect(run.errorText.contains("256 MiB") && run.errorText.contains("ulimit -d"))
            #expect(try home.status()["attemptsLeft"] as? Int == 10)
        }
        #expect(try home("token", "list").code == 0)
    }

    @Test("A command that waits after a wrong passcode says so, and then works")
    func waiting() throws {
        let home = try CommandHome()
        // On a busy machine, the second may be over before the next command starts. The right passcode sets
        // the count back, so another round begins like the first.
        for round in 1...10 {
            for number in 1...5 { #expect(try wrong(home, number) == 5) }
            let run = try home("token", "list")
            #expect(run.code == 0 && !run.errorText.contains("before the next attempt"))
            guard run.errorText.isEmpty, round < 10 else {
                #expect(run.errorText.hasPrefix("coffer: Waiting "), "\(run.errorText)")
                break
            }
        }
    }

    @Test("Interrupts and kills in the derivation cost nothing")
    func killedWhileDeriving() throws {
        let home = try CommandHome("--attempt-delays", "off", "--kdf-memory", "256", "--kdf-passes", "64")
        for signal in ["KILL", "INT", "TERM"] {
            let run = try home.run(["unlock"], before: ["timeout", "--signal=\(signal)", "1"])
            #expect(run.code != 0)
            #expect(try home.status()["attemptsLeft"] as? Int == 10, "\(signal)")
        }
    }

    @Test("Two processes guessing at once get ten guesses together")
    func together() throws {
        let home = try CommandHome("--attempt-delays", "off")
        let path = home.path
        let codes = try inParallel(2) { worker in
            try (0..<8).map { number in
                try CommandRun.coffer(
                    "unlock", "--home", path, "--passcode-fd", "3",
                    descriptors: [3: Array("wrong-\(worker)-\(number)".utf8)]
                ).code
            }
        }
        #expect(codes.joined().count { $0 == 5 } == 9 && codes.joined().count { $0 == 6 } == 7)
    }
}

/// Runs `body` on so many threads at once; gives what each gave.
func inParallel<Result: Sendable>(
    _ count: Int, _ body: @escaping @Sendable (Int) throws -> Result
) throws -> [Result] {
    let results = Results<Result>()
    DispatchQueue.concurrentPerform(iterations: count) { worker in
        results.add(Swift.Result { try body(worker) })
    }
    return try results.all.map { try $0.get() }
}

private final class Results<Value: Sendable>: Sendable {
    private let stored = Mutex<[Result<Value, any Error>]>([])

    func add(_ result: Result<Value, any Error>) { stored.withLock { $0.append(result) } }

    var all: [Result<Value, any Error>] { stored.withLock { $0 } }
}
