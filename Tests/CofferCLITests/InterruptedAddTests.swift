import Foundation
import Testing
import TestSupport

@Suite("coffer file add, interrupted")
struct InterruptedAddTests {
    /// A sparse file of `size` bytes, which takes a while to seal.
    private func sparse(_ home: CommandHome, _ size: UInt64) throws -> String {
        let path = try home.file("long", [])
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.truncate(atOffset: size)
        try file.close()
        return path
    }

    private func unfinished(_ home: CommandHome) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: home.path + "/vault/files")
            .filter { $0.hasPrefix(".tmp-") }
    }

    /// Sends `signal` to an addition once its unfinished container has its place on the disk, and waits for
    /// its end.
    private func interrupt(
        _ home: CommandHome, by signal: String, before: [String] = []
    ) throws -> CommandRun {
        let path = try sparse(home, 2 << 30)
        let script = """
            set -m
            "$@" & child=$!
            while kill -0 $child && ! find "$FILES" -name '.tmp-*' -size +2097151k | grep -q .; do :; done
            kill -s \(signal) $child
            wait $child
            """
        return try CommandRun.run(
            "bash",
            ["-c", script, "bash", CommandRun.cofferPath, "file", "add"] + before + [
                path, "--home", home.path,
            ],
            environment: ["FILES": home.path + "/vault/files"])
    }

    @Test(
        "A signal that ends file add removes the unfinished file at once",
        arguments: [("INT", 130), ("TERM", 143), ("HUP", 129), ("QUIT", 131)])
    func signalled(_ signal: String, _ code: Int32) throws {
        let home = try CommandHome(passcode: nil)
        let run = try interrupt(home, by: signal)
        #expect(run.code == code, "\(run.errorText)")
        #expect(try unfinished(home).isEmpty)
        #expect(try home.status()["files"] as? Int == 0)
        #expect(try home.status()["unfinishedBytes"] == nil)
    }

    @Test("Of several files, those stored before the signal stay")
    func several() throws {
        let home = try CommandHome(passcode: nil)
        let run = try interrupt(home, by: "INT", before: [try home.file("small", [1, 2, 3])])
        #expect(
            run.code == 130 && run.errorText.contains("Stored before the failure: 1 file."),
            "\(run.errorText)")
        #expect(run.text.split(separator: "\n").count == 1)
        #expect(try unfinished(home).isEmpty && home.status()["files"] as? Int == 1)
        #expect(try home("file", "cat", "small").output == [1, 2, 3])
    }

    @Test(
        "A signal ends an addition from a pipe that is silent or has no end, and nothing stays",
        arguments: ["silent", "endless"], ["INT", "TERM"])
    func pipes(_ kind: String, _ signal: String) throws {
        let home = try CommandHome(passcode: nil)
        let script = """
            set -m
            if [ "$3" = silent ]; then
                mkfifo "$2.pipe" && exec 5<>"$2.pipe"
                "$1" file add - --name x --home "$2" <&5 & child=$!
            else
                cat /dev/zero | "$1" file add - --name x --home "$2" & child=$!
            fi
            while kill -0 $child && ! ls "$2"/vault/files/.tmp-* >/dev/null 2>&1; do :; done
            kill -s \(signal) $child
            wait $child
            """
        let run = try CommandRun.run(
            "bash", ["-c", script, "bash", CommandRun.cofferPath, home.path, kind])
        #expect(run.code == (signal == "INT" ? 130 : 143) && run.text.isEmpty, "\(run.errorText)")
        #expect(try unfinished(home).isEmpty)
        #expect(try home.status()["files"] as? Int == 0)
    }

    @Test("After kill -9, status and doctor name the bytes, and the next file command removes them")
    func killed() throws {
        let home = try CommandHome(passcode: nil)
        let kept = try home.add(try home.file("kept", [1, 2, 3]))
        for command in [
            ["file", "cat", "kept"], ["file", "list"], ["file", "verify", "--all"], ["file", "remove", kept],
        ] {
            #expect(try interrupt(home, by: "KILL").code == 137)
            #expect(try unfinished(home).count == 1)
            let status = try home.status()
            #expect(status["files"] as? Int == 1 && status["unfinishedFiles"] as? Int == 1)
            #expect(status["unfinishedBytes"] as? Int ?? 0 >= 2 << 30)
            let checks = try home("doctor", "--json").json["checks"] as? [[String: Any]]
            #expect(checks?.contains { $0["name"] as? String == "unfinished-files" } == true)
            #expect(try unfinished(home).count == 1)
            #expect(try home.run(command).code == 0)
            #expect(try unfinished(home).isEmpty)
            #expect(try home.status()["unfinishedFiles"] == nil)
        }
    }

    @Test("A file that another process is adding stays")
    func running() throws {
        let home = try CommandHome(passcode: nil)
        let path = try sparse(home, 2 << 30)
        let script = """
            set -m
            "$1" file add "$2" --home "$3" & child=$!
            while kill -0 $child && ! ls "$3"/vault/files/.tmp-* >/dev/null 2>&1; do :; done
            # It begins its file under the home's lock, and is to be stopped without it.
            flock "$3/lock" true
            kill -STOP $child
            "$1" file list --home "$3" && "$1" status --home "$3" --json && ls -A "$3/vault/files"
            kill -CONT $child && kill -INT $child
            # wait may say first that it was stopped.
            while wait $child; code=$?; [ $code -eq 147 ]; do :; done
            exit $code
            """
        let run = try CommandRun.run("bash", ["-c", script, "bash", CommandRun.cofferPath, path, home.path])
        #expect(run.code == 130, "\(run.errorText)")
        #expect(run.text.contains(".tmp-") && !run.text.contains("unfinished"), "\(run.errorText)")
        #expect(try unfinished(home).isEmpty)
    }
}
