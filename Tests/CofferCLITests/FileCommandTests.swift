import Foundation
import Testing
import TestSupport

@Suite("coffer file")
struct FileCommandTests {
    private static let content = (0..<200_001).map { UInt8(truncatingIfNeeded: $0 &* 13 >> 3) }

    @Test(
        "A file is added, listed, read, verified, exported and removed", arguments: [0, 1, 65_536, 200_001])
    func circle(_ size: Int) throws {
        let home = try CommandHome()
        let content = Array(Self.content.prefix(size))
        let id = try home.add(try home.file("report.bin", content))
        let files = try #require(try home("file", "list", "--json").json["files"] as? [[String: Any]])
        #expect(files.count == 1 && files[0]["id"] as? String == id)
        #expect(files[0]["name"] as? String == "report.bin" && files[0]["length"] as? Int == size)
        #expect(try home("file", "cat", id).output == content)
        #expect(try home("file", "verify", id, "--json").json["authentic"] as? Bool == true)
        #expect(try home("file", "verify", "--all").text == "1 file is authentic\n")
        let absent = try home("file", "add", "/no/such/file")
        #expect(absent.code == 3 && absent.errorText.contains("There is no file or directory /no/such/file."))
        let target = home.folder.appending(path: "out").path(percentEncoded: false)
        #expect(try home("file", "export", id, target).code == 0)
        #expect(FileManager.default.contents(atPath: target) == Data(content))
        #expect(try home("file", "export", id, target, "--json").errorCode == "alreadyExists")
        #expect(try home("file", "remove", id).code == 0)
        for command in ["cat", "verify", "remove"] { #expect(try home("file", command, id).code == 3) }
    }

    @Test(
        "cat takes ranges as HTTP has them",
        arguments: [
            ("0-0", 0..<1), ("5-9", 5..<10), ("65530-65540", 65_530..<65_541), ("199990-", 199_990..<200_001),
            ("0-", 0..<200_001), ("200000-999999", 200_000..<200_001), ("200001-", 200_001..<200_001),
            ("9223372036854775807-", 200_001..<200_001),
        ])
    func ranges(_ range: String, _ bytes: Range<Int>) throws {
        let home = try CommandHome(passcode: nil)
        let id = try home.add(try home.file("a", Self.content))
        #expect(try home("file", "cat", id, "--range", range).output == Array(Self.content[bytes]))
        let json = try home("file", "cat", id, "--range", range, "--json")
        #expect(
            Data(base64Encoded: json.json["contentBase64"] as? String ?? "-") == Data(Self.content[bytes]))
    }

    @Test("With a damaged index, list shows the rest and fails; reindex repairs it")
    func damagedIndex() throws {
        let home = try CommandHome(passcode: nil)
        let ids = try ["a", "b"].map { try home.add(try home.file($0, Array($0.utf8))) }
        let index = URL(filePath: home.path + "/vault/fileindex")
        var bytes = [UInt8](try Data(contentsOf: index))
        bytes[bytes.count - 50] ^= 8
        try Data(bytes).write(to: index)
        let run = try home("file", "list", "--json")
        #expect(run.code == 7 && run.json["indexDamaged"] as? Bool == true)
        #expect((run.json["files"] as? [[String: Any]])?.map { $0["id"] as? String } == [ids[0]])
        #expect(run.json["unlisted"] as? [String] == [ids[1]])
        let text = try home("file", "list")
        #expect(text.code == 7 && text.text.contains(ids[0]) && !text.text.contains(ids[1]))
        #expect(text.errorText.contains(ids[1]) && text.errorText.contains("file reindex"))
        #expect(try home("file", "cat", ids[0]).text == "a")
        #expect(try home("file", "cat", ids[1], "--json").errorCode == "corrupt")
        #expect(try home("file", "reindex").code == 0)
        #expect(try home("file", "cat", ids[1]).text == "b")
        #expect(try home("file", "list").code == 0)
    }

    @Test("A deleted container is listed as missing and named everywhere; remove clears it")
    func missing() throws {
        let home = try CommandHome(passcode: nil)
        let ids = try ["a", "b"].map { try home.add(try home.file($0, Array($0.utf8))) }
        try FileManager.default.removeItem(atPath: home.path + "/vault/files/\(ids[0]).coffer")
        let run = try home("file", "list", "--json")
        let files = try #require(run.json["files"] as? [[String: Any]])
        #expect(run.code == 7 && run.errorText.contains("file remove"))
        #expect(files.map { $0["state"] as? String } == ["missing", "stored"])
        #expect(files.map { $0["id"] as? String } == ids && files[0]["name"] as? String == "a")
        let rows = try home("file", "list").text.split(separator: "\n")
        #expect(rows.count == 3 && rows[1].contains(ids[0]) && rows[1].contains("missing"))
        for command in [["cat"], ["verify"], ["view", "--", "true"], ["export", home.path + "-out"]] {
            var words = ["file", command[0], ids[0]] + command.dropFirst()
            words.insert("--json", at: 2)
            let run = try home.run(words)
            #expect(run.code == 7 && run.errorCode == "missing", "\(command)")
        }
        let all = try home("file", "verify", "--all", "--json")
        #expect(all.code == 7 && all.json["missing"] as? [String] == [ids[0]])
        #expect(try home("file", "verify", "--all").text.contains("\(ids[0]): missing"))
        #expect(try home.status()["missingFiles"] as? [String] == [ids[0]])
        #expect(try home("status").text.contains(ids[0]))
        #expect(try home("doctor").text.contains(ids[0]))
        #expect(try home("file", "remove", ids[0]).code == 0)
        #expect(try home("file", "remove", ids[0], "--json").errorCode == "absent")
        #expect(try home("file", "list").code == 0 && home("file", "verify", "--all").code == 0)
        #expect(try home.status()["missingFiles"] == nil)
    }

    @Test("A container that the index does not know is named by list, status and doctor")
    func behind() throws {
        let home = try CommandHome(passcode: nil)
        let first = try home.add(try home.file("a", [1]))
        let index = URL(filePath: home.path + "/vault/fileindex")
        let before = try Data(contentsOf: index)
        let second = try home.add(try home.file("b", [2]))
        try before.write(to: index)
        let run = try home("file", "list", "--json")
        #expect(run.code == 7 && run.json["indexBehind"] as? Bool == true)
        #expect(run.json["unlisted"] as? [String] == [second])
        #expect((run.json["files"] as? [[String: Any]])?.map { $0["id"] as? String } == [first])
        #expect(try home("file", "list").errorText.contains(second))
        #expect(try home.status()["unlistedFiles"] as? [String] == [second])
        #expect(try home("doctor").text.contains(second))
        #expect(try home("file", "cat", second).errorText.contains("file reindex"))
        let all = try home("file", "verify", "--all")
        #expect(all.code == 7 && all.errorText.contains("file reindex"))
        #expect(try home("file", "reindex").code == 0)
        #expect(try home("file", "list").code == 0 && home("file", "cat", second).output == [2])
    }

    @Test("Refusals of view and export say what to do")
    func nextSteps() throws {
        let home = try CommandHome(passcode: nil)
        let path = try home.file("a", [1])
        let plain = try home.add(path)
        let bound = try home("file", "add", path, "--context", "x", "--json").json["id"] as? String ?? ""
        let export = ["file", "export", plain]
        for (words, code, step) in [
            (["file", "view", bound, "--", "true"], "corrupt", "--context"),
            (["file", "view", bound, "--context", "y", "--", "true"], "corrupt", "--context"),
            (["file", "view", plain, "--context", "y", "--", "true"], "corrupt", "Omit --context"),
            (["file", "view", plain, "--", "no such command"], "invalidInput", "PATH"),
            (["file", "export", bound, home.path + "-out"], "corrupt", "--context"),
            (export + [home.path + "-none/out"], "absent", "Create the directory first"),
            (export + [path], "alreadyExists", "another path"),
            (export + [home.path + "-none/"], "absent", "choose another path"),
            (["file", "view", "a/b", "--", "true"], "invalidInput", "file list"),
            (["file", "view", "1234", "--", "true"], "absent", "file list"),
            (["file", "view", UUID().uuidString, "--", "true"], "absent", "file list"),
        ] {
            var words = words
            words.insert("--json", at: 2)
            let run = try home.run(words)
            #expect(run.errorCode == code && run.errorText.contains(step), "\(words): \(run.errorText)")
        }
    }

    @Test("Malformed ranges and ids are refused")
    func malformed() throws {
        let home = try CommandHome(passcode: nil)
        let id = try home.add(try home.file("a", [1, 2, 3]))
        for range in ["5-4", "-5", "-", "a-b", "1-2-3", "0-9223372036854775807"] {
            let run = try home("file", "cat", id, "--range=\(range)", "--json")
            #expect(run.code == 64 && run.errorCode != nil, "\(range)")
        }
        #expect(try home("file", "cat", "../../device").code == 64)
        #expect(try home("file", "cat", UUID().uuidString).code == 3)
    }

    @Test("A path that is no regular file is refused")
    func notFiles() throws {
        let home = try CommandHome(passcode: nil)
        let folder = home.folder.path(percentEncoded: false)
        _ = try CommandRun.run("mkfifo", [folder + "/pipe"])
        for (path, code) in [
            (folder, 11), (folder + "/pipe", 11), ("/dev/zero", 11), ("/", 11), ("", 64),
            (folder + "/absent", 3), ("/proc/self/status", 10),
        ] as [(String, Int32)] {
            let run = try home("file", "add", path, "--json")
            #expect(run.code == code && run.errorCode != nil, "\(path)")
        }
        #expect(try home.status()["files"] as? Int == 0)
    }

    @Test("A name with a newline and bytes that are no UTF-8 is kept exactly")
    func names() throws {
        let home = try CommandHome(passcode: nil)
        let script = """
            name="$(printf 'a\\nb\\377\\376.bin')" && printf content > "$2/$name" \
            && id="$("$0" file add "$2/$name" --home "$1")" \
            && "$0" file view "$id" --home "$1" -- sh -c 'test "${1##*/}" = "$2" && cat "$1"' sh {} "$name" \
            && "$0" file export "$id" "$2/$name-out" --home "$1" && cat "$2/$name-out"
            """
        let run = try CommandRun.run(
            "sh", ["-c", script, CommandRun.cofferPath, home.path, home.folder.path(percentEncoded: false)])
        #expect(run.code == 0 && run.text == "contentcontent")
        let files = try home("file", "list", "--json").json["files"] as? [[String: Any]]
        #expect(files?.first?["nameBytes"] as? [Int] == [97, 10, 98, 255, 254, 46, 98, 105, 110])
        #expect(try home("file", "list").text.split(separator: "\n").count == 2)
    }

    @Test("--remove-original refuses what is the home's own, also through a mount", arguments: ["", "vault"])
    func ownHome(_ mounted: String) throws {
        let home = try CommandHome(passcode: nil)
        let place = home.folder.path(percentEncoded: false) + "/mounted"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
        let device = home.path + "/vault/device"
        #expect(try home("file", "add", device, "--remove-original", "--json").errorCode == "refused")
        let script = """
            mount --bind "$1/$2" "$3" || exit 99
            file=$(find "$3" -name device) && "$0" file add "$file" --remove-original --home "$1" --json
            """
        let run = try CommandRun.run(
            "unshare", ["-Urm", "sh", "-c", script, CommandRun.cofferPath, home.path, mounted, place])
        // Where the kernel allows no such namespaces there is nothing to see.
        if run.errorCode != nil || run.code == 0 { #expect(run.code == 11 && run.errorCode == "refused") }
        #expect(FileManager.default.fileExists(atPath: device))
        #expect(try home.status()["files"] as? Int == 0)
    }

    @Test("--remove-original removes it once it is sealed, and no file through a link")
    func removeOriginal() throws {
        let home = try CommandHome(passcode: nil)
        let path = try home.file("original", [1, 2, 3])
        let link = home.folder.appending(path: "link").path(percentEncoded: false)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        #expect(try home("file", "add", link, "--remove-original").code == 11)
        #expect(try home.status()["files"] as? Int == 0)
        let run = try home("file", "add", path, "--remove-original", "--json")
        #expect(run.code == 0 && !FileManager.default.fileExists(atPath: path))
        #expect(try home("file", "cat", run.json["id"] as? String ?? "").output == [1, 2, 3])
    }

    @Test(
        "--remove-original names what it leaves in clear: other names and interrupted removals")
    func originalsLeft() throws {
        let home = try CommandHome(passcode: nil)
        let path = try home.file("original", [1, 2, 3])
        let other = home.folder.appending(path: "other").path(percentEncoded: false)
        try FileManager.default.linkItem(atPath: path, toPath: other)
        let linked = try home("file", "add", path, "--remove-original")
        #expect(
            linked.code == 0 && linked.errorText.contains("1 other name (hard links)"), "\(linked.errorText)")
        #expect(FileManager.default.fileExists(atPath: other))
        _ = try home.file("old.removing-0123456789abcdef", [4])
        _ = try home.file("old.removing-", [4])
        let run = try home("file", "add", other, "--remove-original")
        #expect(run.code == 0 && !FileManager.default.fileExists(atPath: other))
        #expect(run.errorText.contains("old.removing-0123456789abcdef. If "), "\(run.errorText)")
        #expect(run.errorText.split(separator: "\n").count == 1, "\(run.errorText)")
        #expect(try CommandRun.coffer("file", "add", "--help").text.contains(".removing-"))
    }

    @Test(
        "An original that cannot be removed is called still there, beside its sealed copy",
        .enabled(if: Namespace.isAvailable))
    func originalStays() throws {
        let home = try CommandHome(passcode: nil)
        let folder = home.folder.appending(path: "fixed")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        try Data([1, 2, 3]).write(to: folder.appending(path: "original"))
        let run = try Namespace.run(
            "mount --bind \"$2\" \"$2\" && mount -o remount,ro,bind \"$2\" && "
                + "exec \"$0\" file add \"$2/original\" --remove-original --home \"$1\" --json",
            [home.path, folder.path(percentEncoded: false)])
        #expect(run.code == 1 && run.errorCode == "readOnly", "\(run.errorText)")
        #expect(run.errorText.contains("was sealed, but the original could not be removed."))
        #expect(run.errorText.contains("The id of the sealed copy is"))
        #expect(FileManager.default.fileExists(atPath: folder.appending(path: "original").path()))
    }

    @Test("A changed container exits 7, and what comes out before is what went in")
    func changed() throws {
        let home = try CommandHome(passcode: nil)
        let id = try home.add(try home.file("a", Self.content))
        let containers = home.path + "/vault/files/"
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: containers).first)
        let sealed = try #require(FileManager.default.contents(atPath: containers + name))
        for offset in [100, 1500, 4096, 100_000, sealed.count - 1] {
            var copy = sealed
            copy[offset] ^= 1
            try copy.write(to: URL(filePath: containers + name))
            #expect(try home("file", "verify", id, "--json").errorCode != nil)
            let cat = try home("file", "cat", id)
            #expect(cat.code == 7 && Self.content.starts(with: cat.output), "\(offset)")
        }
        try sealed.dropLast().write(to: URL(filePath: containers + name))
        #expect(try home("file", "verify", id).code == 7)
    }
}
