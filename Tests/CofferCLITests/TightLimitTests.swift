import Foundation
import Testing
import TestSupport

/// Each command ends within its deadline, done or with an error that says what to raise, and never by a
/// signal. Where the loader of programs cannot even load it, that says so and ends with 127.
@Suite("Tight limits", .enabled(if: !Sanitizer.isOn, "a sanitizer takes terabytes of addresses"))
struct TightLimitTests {
    private static let loaderFailed: Int32 = 127
    private static let commands = [["status"], ["token", "get", "a", "b"], ["file", "list"], ["lock"]]

    /// Runs a command under `limit`, an option of bash's ulimit with its value.
    private func run(
        _ home: CommandHome, _ arguments: [String], limit: String, as prefix: [String] = []
    ) throws -> CommandRun {
        try home.run(
            arguments + ["--json"], passcode: "",
            before: prefix + [
                "timeout", "-s", "KILL", "20", "bash", "-c", "ulimit \(limit) && exec \"$@\"", "bash",
            ])
    }

    private func home() throws -> CommandHome {
        let home = try CommandHome(passcode: nil)
        #expect(try home("token", "put", "a", "b", input: Array("secret".utf8)).code == 0)
        _ = try home.add(try home.file("letter", Array("content".utf8)))
        return home
    }

    private func expectTyped(_ run: CommandRun, _ about: String) {
        switch run.code {
        case 0: break
        case Self.loaderFailed:
            // The second are the words of Debian 13's loader.
            let words = ["shared libraries", "cannot allocate TLS data"]
            #expect(words.contains { run.errorText.contains($0) }, "\(about): \(run.errorText)")
        default: #expect(run.errorCode != nil && run.code < 128, "\(about): \(run.code) \(run.errorText)")
        }
    }

    @Test(
        "Commands fail with a typed error at most when addresses, in KiB, are few",
        arguments: [
            60_000, 90_000, 100_000, 103_000, 106_000, 109_000, 112_000, 116_000, 120_000, 130_000, 150_000,
            175_000, 200_000, 225_000, 250_000, 300_000, 400_000,
        ])
    func addresses(_ limit: Int) throws {
        let home = try home()
        for command in Self.commands {
            expectTyped(try run(home, command, limit: "-v \(limit)"), "\(limit) \(command)")
        }
        if limit >= 250_000 { #expect(try run(home, ["status"], limit: "-v \(limit)").code == 0) }
    }

    @Test(
        "Commands fail with a typed error at most when data, in KiB, is short",
        arguments: [2000, 8000, 12_000, 14_000, 16_000, 20_000, 30_000, 60_000])
    func data(_ limit: Int) throws {
        let home = try home()
        for command in Self.commands {
            expectTyped(try run(home, command, limit: "-d \(limit)"), "\(limit) \(command)")
        }
        if limit >= 60_000 { #expect(try run(home, ["status"], limit: "-d \(limit)").code == 0) }
    }

    @Test(
        "Commands fail with a typed error at most when open files are few",
        arguments: [3, 4, 5, 6, 8, 9, 10, 11, 12, 16, 64])
    func descriptors(_ limit: Int) throws {
        let home = try home()
        for command in Self.commands {
            expectTyped(try run(home, command, limit: "-n \(limit)"), "\(limit) \(command)")
        }
        if limit >= 64 { #expect(try run(home, ["status"], limit: "-n \(limit)").code == 0) }
    }

    @Test(
        "Without threads, commands that need none work, a wipe included",
        .enabled(if: geteuid() == 0, "only root becomes another user, whom the limit holds for"))
    func threads() throws {
        let home = try home()
        let folder = home.folder.path(percentEncoded: false)
        let program = folder + "/coffer"
        // By another process: a file that this one writes stays open in what it starts meanwhile.
        #expect(try CommandRun.run("cp", [CommandRun.cofferPath, program]).code == 0)
        #expect(try CommandRun.run("chown", ["-R", "54321:54321", folder]).code == 0)
        #expect(try CommandRun.run("chmod", ["755", folder]).code == 0)
        let inside: ([String]) throws -> CommandRun = { arguments in
            try CommandRun.run(
                "timeout",
                [
                    "-s", "KILL", "20", "bash", "-c", "ulimit -u 1 && exec \"$@\"", "bash", "setpriv",
                    "--reuid", "54321",
                ]
                    + ["--regid", "54321", "--clear-groups", program] + arguments + [
                        "--home", home.path, "--json",
                    ])
        }
        for command in Self.commands {
            let run = try inside(command)
            #expect(run.code == 0, "\(command): \(run.code) \(run.errorText)")
        }
        for command in [["watch"], ["token", "refresh", "a", "b", "--", "true"]] {
            let run = try inside(command)
            #expect(run.code == 11 && run.errorText.contains("ulimit -u"), "\(run.errorText)")
        }
        #expect(try inside(["wipe", "--yes"]).code == 0)
        #expect(try inside(["status"]).json["state"] as? String == "wiped")
    }

    @Test("A view that a limit ends names the limit and leaves nothing in memory")
    func views() throws {
        let home = try CommandHome(passcode: nil, environment: ["XDG_RUNTIME_DIR": ""])
        let id = try home.add(try home.file("letter", [UInt8](repeating: 65, count: 5000)))
        // The first view notes the root.
        #expect(try home("file", "view", id, "--", "cat").output.count == 5000)
        let root = try String(contentsOfFile: home.path + "/vault/viewroot", encoding: .utf8)
        var failures = 0
        for limit in ["-f 2"] + (8...24).map({ "-n \($0)" }) {
            let run = try home.run(
                ["file", "view", id, "--json", "--", "true"],
                before: [
                    "timeout", "-s", "KILL", "60", "bash", "-c", "ulimit \(limit) && exec \"$@\"", "bash",
                ])
            if run.code != 0 {
                failures += 1
                expectTyped(run, limit)
                #expect(run.errorText.contains("ulimit \(limit.prefix(2))"), "\(limit): \(run.errorText)")
            }
            #expect(!FileManager.default.fileExists(atPath: "/dev/shm/" + root), "\(limit)")
        }
        #expect(failures > 1)
    }

    @Test("The copy of a view is removed even if the process can open nothing more")
    func viewWithoutDescriptors() throws {
        let home = try CommandHome(passcode: nil, environment: ["XDG_RUNTIME_DIR": ""])
        let id = try home.add(try home.file("letter", [UInt8](repeating: 65, count: 5000)))
        // The viewer takes from the command every descriptor that it does not have open.
        let viewer = "prlimit --pid $PPID --nofile=3:3 && test -s \"$0\" && exit 3"
        let run = try home.run(["file", "view", id, "--", "sh", "-c", viewer, "{}"])
        #expect(run.code == 1 && run.errorText.contains("ulimit -n"), "\(run.code) \(run.errorText)")
        let name = try String(contentsOfFile: home.path + "/vault/viewroot", encoding: .utf8)
        let root = URL(filePath: "/dev/shm/" + name)
        let left = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
        let names = left?.compactMap { ($0 as? URL)?.lastPathComponent } ?? []
        #expect(!names.isEmpty && !names.contains("letter"), "\(names)")
        // The next command removes the empty directories.
        #expect(try home("file", "list").code == 0)
        #expect(!FileManager.default.fileExists(atPath: root.path(percentEncoded: false)))
    }
}
