import Foundation
import Glibc
import Testing
import TestSupport

@Suite("coffer file view, coffer file reap")
struct ViewTests {
    /// A home with one file in it.
    private func make() throws -> (home: CommandHome, id: String) {
        let home = try CommandHome(passcode: nil)
        return (home, try home.add(try home.file("letter.txt", Array("a private letter\n".utf8))))
    }

    /// A running view: the command, the process that views, and the path of the copy. `preparation` has run
    /// when this returns.
    private func start(
        _ home: CommandHome, _ id: String, preparation: String = "", _ script: String = "exec sleep 100"
    ) throws -> (helper: Helper, viewer: Int32, copy: String) {
        let report = "\(preparation)echo ready; echo $$; echo \"$1\"; "
        let helper = try #require(
            Helper([
                CommandRun.cofferPath, "file", "view", id, "--home", home.path, "--", "sh", "-c",
                report + script, "sh", "{}",
            ]))
        let viewer = try #require(helper.line().flatMap { Int32($0) })
        return (helper, viewer, try #require(helper.line()))
    }

    private func isThere(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    @Test("The copy has the original name and content, is for its owner alone, and goes with the command")
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
        for program in ["/no/such/program", "/", "/etc/passwd"] {
            let run = try home("file", "view", id, "--json", "--", program)
            #expect(run.code == 64 && run.errorCode == "invalidInput")
        }
        #expect(try home("file", "view", id, "--json").code == 64)
    }

    @Test("The passcode's descriptor, and every other, stays here")
    func descriptors() throws {
        let home = try CommandHome()
        let id = try home.add(try home.file("letter", [1]))
        let script = "for d in /proc/$$/fd/*; do test ${d##*/} -le 2 || readlink $d || true; done"
        let run = try home("file", "view", id, "--", "sh", "-c", script)
        #expect(run.code == 0)
        // A shell may hold its own script or a terminal open, never a file of ours.
        #expect(!run.text.contains("coffer"))
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

    @Test("A command that does not heed the signal is killed, and the copy goes")
    func stubborn() throws {
        let (home, id) = try make()
        let (helper, viewer, copy) = try start(
            home, id, preparation: "trap '' TERM; ", "while :; do sleep 0.1; done")
        kill(helper.identifier, SIGTERM)
        #expect(helper.end() == 128 + SIGKILL)
        #expect(!isThere(copy) && !isThere("/proc/\(viewer)"))
    }

    @Test("After a kill the copy is reaped, once; a living one is not")
    func reap() throws {
        let (home, id) = try make()
        let (living, _, livingCopy) = try start(home, id)
        let (killed, viewer, killedCopy) = try start(home, id)
        kill(killed.identifier, SIGKILL)
        kill(viewer, SIGKILL)
        #expect(killed.end() == 128 + SIGKILL)
        #expect(isThere(killedCopy))
        #expect(try home("file", "reap", "--json").json["reaped"] as? Int == 1)
        #expect(!isThere(killedCopy) && isThere(livingCopy))
        #expect(try home("file", "reap").text == "0\n")
        kill(living.identifier, SIGTERM)
        #expect(living.end() == 128 + SIGTERM && !isThere(livingCopy))
    }

    @Test("Wiping takes copies along that are being viewed")
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
