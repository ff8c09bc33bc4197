import Foundation
import Glibc
import Testing
import TestSupport

@Suite("coffer file view, coffer file prune-views")
struct ViewTests {
    /// The views have a root of their own: under a runtime directory every command of this user removes what
    /// a test has killed, and counts it.
    private static let environment = ["XDG_RUNTIME_DIR": ""]

    /// A home with one file in it.
    private func make() throws -> (home: CommandHome, id: String) {
        let home = try CommandHome(passcode: nil, environment: Self.environment)
        return (home, try home.add(try home.file("letter.txt", Array("a private letter\n".utf8))))
    }

    /// A running view: the command, the process that views, and the path of the copy. `preparation` has run
    /// when this returns.
    private func start(
        _ home: CommandHome, _ id: String, options: [String] = [], preparation: String = "",
        _ script: String = "exec sleep 100"
    ) throws -> (helper: Helper, viewer: Int32, copy: String) {
        let report = "\(preparation)echo ready; echo $$; echo \"$1\"; "
        let helper = try #require(
            Helper(
                Self.environment.map { "\($0)=\($1)" } + [
                    CommandRun.cofferPath, "file", "view", id, "--home", home.path,
                ] + options + ["--", "sh", "-c", report + script, "sh", "{}"]))
        let viewer = try #require(helper.line().flatMap { Int32($0) })
        return (helper, viewer, try #require(helper.line()))
    }

    /// Whether the process has not ended, waited for or not.
    private func isRunning(_ process: Int32) -> Bool {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else {
            return false
        }
        return !text.contains(") Z ")
    }

    private func isThere(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    @Test("The copy has the original's name and content, one owner, and the command's lifetime")
    func copy() throws {
        let (home, id) = try make()
        let script = "cat \"$1\"; stat -c %a \"$1\"; echo \"$1\"; stat -f -c %T \"$1\""
        let run = try home("file", "view", id, "--", "sh", "-c", script, "sh", "{}")
        let lines = run.text.split(separator: "\n").map(String.init)
        try #require(run.code == 0 && lines.count == 4)
        #expect(lines[0] == "a private letter" && lines[1] == "400" && lines[3] == "tmpfs")
        #expect(lines[2].hasSuffix("/letter.txt") && !isThere(lines[2]))
        #expect(try home("file", "view", id, "--", "cat").text == "a private letter\n")
    }

    @Test("The exit code is the command's; with --json it is in the one document")
    func exitCode() throws {
        let (home, id) = try make()
        for code in [0, 1, 42, 255] as [Int32] {
            let run = try home("file", "view", id, "--json", "--", "sh", "-c", "echo noise; exit \(code)")
            #expect(run.code == code && run.json["exitCode"] as? Int == Int(code))
            #expect(run.errorText.contains("noise"))
        }
        #expect(try home("file", "view", id, "--", "sh", "-c", "kill -9 $$").code == 137)
        let failures: [(String, Int32)] = [("/no/such/program", 127), ("/", 126), ("/etc/passwd", 126)]
        for (program, code) in failures {
            let run = try home("file", "view", id, "--json", "--", program)
            #expect(run.code == code && run.errorCode == "invalidInput")
        }
        #expect(try home("file", "view", id, "--json").code == 64)
    }

    @Test("The passcode's descriptor, and every other but the copy's lease, stays here")
    func descriptors() throws {
        let home = try CommandHome()
        let id = try home.add(try home.file("letter", [1]))
        let script = "for d in /proc/$$/fd/*; do test ${d##*/} -le 2 || readlink $d || true; done"
        let run = try home("file", "view", id, "--", "sh", "-c", script)
        #expect(run.code == 0)
        // A shell may hold its own script or a terminal open, never a file of ours but the lease.
        let ours = run.text.split(separator: "\n").filter { $0.contains("coffer") }
        #expect(ours.count == 1 && ours.first?.hasSuffix("/lease") == true)
    }

    @Test("A signal ends the command and the copy", arguments: [SIGTERM, SIGINT, SIGHUP, SIGQUIT])
    func signals(_ number: Int32) throws {
        let (home, id) = try make()
        let (helper, viewer, copy) = try start(home, id)
        #expect(isThere(copy))
        kill(helper.identifier, number)
        #expect(helper.end() == 128 + number)
        #expect(!isThere(copy) && !isThere("/proc/\(viewer)"))
    }

    @Test("A command that ignores the signal is killed, and the copy is removed")
    func stubborn() throws {
        let (home, id) = try make()
        let (helper, viewer, copy) = try start(
            home, id, preparation: "trap '' TERM; ", "while :; do sleep 0.1; done")
        kill(helper.identifier, SIGTERM)
        #expect(helper.end() == 128 + SIGKILL)
        #expect(!isThere(copy) && !isThere("/proc/\(viewer)"))
    }

    @Test("After a kill the copy is pruned, once; a living one is not")
    func pruneViews() throws {
        let (home, id) = try make()
        let (living, _, livingCopy) = try start(home, id)
        let (killed, viewer, killedCopy) = try start(home, id)
        kill(killed.identifier, SIGKILL)
        kill(viewer, SIGKILL)
        #expect(killed.end() == 128 + SIGKILL)
        #expect(isThere(killedCopy))
        #expect(try home("file", "prune-views", "--json").json["pruned"] as? Int == 1)
        #expect(!isThere(killedCopy) && isThere(livingCopy))
        #expect(try home("file", "prune-views").text == "0\n")
        kill(living.identifier, SIGTERM)
        #expect(living.end() == 128 + SIGTERM && !isThere(livingCopy))
    }

    @Test("A viewer that outlives the command keeps its copy until it ends")
    func survivor() throws {
        let (home, id) = try make()
        let (helper, viewer, copy) = try start(home, id, "exec sleep 1000")
        defer { kill(viewer, SIGKILL) }
        kill(helper.identifier, SIGKILL)
        // Foundation sees the end of a process only when its pipe is closed, and the viewer keeps the pipe
        // open.
        let deadline = Date(timeIntervalSinceNow: 300)
        while isRunning(helper.identifier), Date() < deadline {}
        #expect(try home("file", "prune-views").text == "0\n")
        #expect(isThere(copy))
        kill(viewer, SIGKILL)
        #expect(helper.end() == 128 + SIGKILL)
        // No process here is the viewer's parent, so only the lease shows that it ended.
        var pruned = "0\n"
        let end = Date(timeIntervalSinceNow: 300)
        while pruned == "0\n", Date() < end { pruned = try home("file", "prune-views").text }
        #expect(pruned == "1\n" && !isThere(copy))
    }

    @Test("--wait waits for a viewer that went on in the background")
    func background() throws {
        let (home, id) = try make()
        let script = "(while test ! -e \"$2\"; do sleep 0.05; done; cat \"$1\") & echo started >&2"
        let flag = try home.file("flag", [])
        try FileManager.default.removeItem(atPath: flag)
        let helper = try #require(
            Helper([
                CommandRun.cofferPath, "file", "view", id, "--home", home.path, "--wait", "--", "sh", "-c",
                "echo ready; echo \"$1\"; " + script, "sh", "{}", flag,
            ]))
        let copy = try #require(helper.line())
        #expect(isThere(copy))
        #expect(FileManager.default.createFile(atPath: flag, contents: nil))
        #expect(helper.line() == "a private letter")
        #expect(helper.end(seconds: 60) == 0)
        #expect(!isThere(copy))
    }

    @Test("--timeout takes the copy back and ends the command")
    func timeout() throws {
        let (home, id) = try make()
        for options in [[], ["--writable"], ["--descriptor"]] {
            let run = try home.run(
                ["file", "view", id, "--json", "--timeout", "0.2"] + options + [
                    "--", "sh", "-c", "sleep 100",
                ])
            #expect(run.code == 9 && run.errorCode == "timedOut", "\(options): \(run.code)")
            #expect(run.errorText == "coffer: The command exceeded the time limit and was stopped.\n")
        }
        for wrong in ["0", "-1", "nan", "x"] {
            #expect(try home("file", "view", id, "--timeout=\(wrong)", "--", "cat").code == 64)
        }
    }

    @Test("An edit that --timeout ends is discarded, and that is said", arguments: [["--writable"], []])
    func lateEdit(_ options: [String]) throws {
        let (home, id) = try make()
        let script = "chmod u+w \"$1\"; echo edited > \"$1\"; trap 'exit 0' TERM; while :; do sleep 0.1; done"
        let run = try home.run(
            ["file", "view", id, "--timeout", "3"] + options + ["--", "sh", "-c", script, "sh", "{}"])
        #expect(run.code == 9)
        #expect(run.errorText.contains("stopped at its time limit, and its changes were discarded"))
        #expect(try home("file", "cat", id).text == "a private letter\n")
    }

    @Test("--writable seals what an editor saved, in place or by rename", arguments: [false, true])
    func edit(inPlace: Bool) throws {
        let (home, id) = try make()
        let script =
            inPlace
            ? "printf ' more' >> \"$1\""
            // As editors do: a backup, a lock file, and a new file that takes the name.
            : """
            d=$(dirname "$1"); cp "$1" "$1~"; : > "$d/.#lock"; sed 's/private/public/' "$1" > "$d/.new"
            mv "$d/.new" "$1"
            """
        let arguments = ["--", "sh", "-c", script, "sh", "{}"]
        let discarded = try home.run(["file", "view", id] + arguments)
        #expect(discarded.code == 0 && discarded.errorText.contains("discarded"))
        #expect(try home("file", "cat", id).text == "a private letter\n")
        let saved = try home.run(["file", "view", id, "--writable", "--json"] + arguments)
        #expect(saved.code == 0 && saved.json["change"] as? String == "saved")
        let expected = inPlace ? "a private letter\n more" : "a public letter\n"
        #expect(try home("file", "cat", id).text == expected)
        #expect(try home("file", "verify", "--all").code == 0)
    }

    @Test("An editor that fails changes nothing, and that is said")
    func failedEdit() throws {
        let (home, id) = try make()
        let run = try home(
            "file", "view", id, "--writable", "--", "sh", "-c", "echo x > \"$1\"; exit 3", "sh", "{}")
        #expect(run.code == 3 && run.errorText.contains("discarded"))
        let quiet = try home("file", "view", id, "--writable", "--json", "--", "true")
        #expect(quiet.code == 0 && quiet.json["change"] as? String == "none")
        #expect(try home("file", "cat", id).text == "a private letter\n")
        for wrong in [
            ["--writable", "--private"], ["--descriptor", "--wait"], ["--descriptor", "--writable"],
        ] {
            #expect(try home.run(["file", "view", id] + wrong + ["--", "cat"]).code == 64)
        }
    }

    @Test("A file that changed meanwhile: conflict, and both contents are kept")
    func conflict() throws {
        let (home, id) = try make()
        let script = "read -r line; echo outer > \"$1\""
        let (helper, _, _) = try start(home, id, options: ["--writable"], script)
        let inner = try home(
            "file", "view", id, "--writable", "--", "sh", "-c", "echo inner > \"$1\"", "sh", "{}")
        #expect(inner.code == 0)
        helper.send("go")
        #expect(helper.end(seconds: 60) == 10)
        let files = try #require(try home("file", "list", "--json").json["files"] as? [[String: Any]])
        let texts = try files.compactMap { $0["id"] as? String }.map { try home("file", "cat", $0).text }
        #expect(Set(texts) == ["inner\n", "outer\n"])
        #expect(try home("file", "cat", id).text == "inner\n")
    }

    @Test("--descriptor: a path without a file, read by what inherits it")
    func descriptor() throws {
        let (home, id) = try make()
        let run = try home(
            "file", "view", id, "--descriptor", "--", "sh", "-c", "cat \"$1\"; echo \"$1\"", "sh", "{}")
        #expect(run.code == 0)
        let lines = run.text.split(separator: "\n")
        #expect(lines.first == "a private letter" && lines.last?.hasPrefix("/proc/self/fd/") == true)
        let writing = try home(
            "file", "view", id, "--descriptor", "--", "sh", "-c", "echo x > \"$1\"", "sh", "{}")
        #expect(writing.code != 0)
    }

    @Test("--private: only the viewer sees the copy", .enabled(if: Namespace.isAvailable))
    func privately() throws {
        let (home, id) = try make()
        let (helper, viewer, copy) = try start(
            home, id, options: ["--private"],
            preparation: "set -e; test \"$(cat \"$1\")\" = 'a private letter'; ")
        #expect(copy.hasSuffix("/letter.txt") && !isThere(copy))
        kill(helper.identifier, SIGTERM)
        #expect(helper.end() == 128 + SIGTERM)
        #expect(!isThere("/proc/\(viewer)"))
        #expect(try home("file", "prune-views").text == "0\n")
    }

    @Test("A wipe removes copies that are being viewed")
    func wiped() throws {
        let (home, id) = try make()
        let (helper, _, copy) = try start(home, id)
        #expect(try home("wipe", "--yes").code == 0)
        #expect(!isThere(copy))
        kill(helper.identifier, SIGTERM)
        _ = helper.end()
    }

    @Test("No directory in memory: refused, nothing left", .enabled(if: Namespace.isAvailable))
    func noMemory() throws {
        let (home, id) = try make()
        let run = try Namespace.run(
            "mount --bind /etc /dev/shm && exec \"$0\" file view \"$2\" --home \"$1\" --json -- cat {}",
            [home.path, id], environment: ["XDG_RUNTIME_DIR": ""])
        #expect(run.code == 1 && run.errorCode == "unsupported")
    }
}

/// A mount namespace of its own, for root and for others.
enum Namespace {
    static let isAvailable =
        (try? CommandRun.run("unshare", ["-rm", "mount", "--bind", "/etc", "/dev/shm"]))?.code == 0

    /// Runs a script in which $0 is the command of this package.
    static func run(
        _ script: String, _ arguments: [String], input: [UInt8] = [], environment: [String: String] = [:]
    ) throws -> CommandRun {
        try CommandRun.run(
            "unshare", ["-rm", "sh", "-c", script, CommandRun.cofferPath] + arguments, input: input,
            environment: environment)
    }
}
