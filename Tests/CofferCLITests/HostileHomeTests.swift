import Foundation
import Glibc
import Testing
import TestSupport

@Suite("Homes that are not as they should be")
struct HostileHomeTests {
    private func set(_ key: FileAttributeKey, of path: String, to value: Int) throws {
        try FileManager.default.setAttributes([key: value], ofItemAtPath: path)
    }

    @Test(
        "A damaged, missing or misplaced file of the vault exits 7 and is left as it is",
        arguments: ["state", "vault/device", "vault/keybag", "vault/attempts", "vault/tokens"])
    func damaged(_ name: String) throws {
        let home = try CommandHome()
        let path = home.path + "/" + name
        let sound = try #require(FileManager.default.contents(atPath: path))
        let damages: [Data?] = [
            Data(), Data((0..<sound.count).map { UInt8(truncatingIfNeeded: $0) }), sound + sound, nil,
        ]
        for damage in damages {
            try FileManager.default.removeItem(atPath: path)
            try damage?.write(to: URL(filePath: path))
            let run = try home("token", "list", "--json")
            #expect(
                run.code == 7 && run.errorCode == "corrupt", "\(name) \(damage?.count ?? -1): \(run.text)")
            #expect(run.errorText.contains("from a backup"), "\(name): \(run.errorText)")
            #expect(FileManager.default.contents(atPath: path) == damage)
            try sound.write(to: URL(filePath: path))
        }
        for target in ["/etc/hostname", "/"] {
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
            #expect([7, 11].contains(try home("token", "list").code), "\(name) -> \(target)")
        }
        try FileManager.default.removeItem(atPath: path)
        try sound.write(to: URL(filePath: path))
        #expect(try home("token", "list").code == 0)
    }

    @Test("Files of another vault are refused")
    func foreign() throws {
        let home = try CommandHome()
        let other = try CommandHome()
        for name in ["vault/device", "vault/keybag", "vault/attempts", "vault/tokens"] {
            let path = home.path + "/" + name
            let own = try #require(FileManager.default.contents(atPath: path))
            let strange = try #require(FileManager.default.contents(atPath: other.path + "/" + name))
            try strange.write(to: URL(filePath: path))
            #expect(try home("token", "list").code == 7, "\(name)")
            try own.write(to: URL(filePath: path))
        }
        #expect(try home("token", "list").code == 0)
    }

    @Test("A home that others may write, or that is or lies below a file, is refused")
    func places() throws {
        let home = try CommandHome()
        for mode in [0o777, 0o770, 0o702] as [Int] {
            try set(.posixPermissions, of: home.path, to: mode)
            #expect(try home("status", "--json").errorCode == "refused")
        }
        try set(.posixPermissions, of: home.path, to: 0o700)
        let file = try home.file("file", [1])
        for path in [file, file + "/below"] {
            let run = try CommandRun.coffer("init", "--no-passcode", "--json", "--home", path)
            #expect(run.code == 11 && run.errorCode == "refused")
        }
        #expect(FileManager.default.contents(atPath: file) == Data([1]))
    }

    @Test("Another user gets nothing", .enabled(if: getuid() == 0))
    func anotherUser() throws {
        let home = try CommandHome(passcode: nil)
        _ = try home("token", "put", "s", "a", input: Array("value".utf8))
        try set(.posixPermissions, of: home.folder.path(percentEncoded: false), to: 0o755)
        let other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        for mode in [0o700, 0o755] as [Int] {
            try set(.posixPermissions, of: home.path, to: mode)
            for command in [
                ["status"], ["token", "get", "s", "a"], ["wipe", "--yes"], ["init", "--no-passcode"],
            ] {
                let run = try home.run(command.withJSON, before: other)
                #expect([1, 11].contains(run.code) && run.errorCode != nil, "\(command)")
            }
        }
        #expect(try home("token", "get", "s", "a").text == "value")
        try set(.ownerAccountID, of: home.path, to: 65534)
        #expect(try home("token", "get", "s", "a", "--json").errorCode == "refused")
        try set(.ownerAccountID, of: home.path, to: 0)
    }

    @Test("A read-only home is looked at, not changed", .enabled(if: Namespace.isAvailable))
    func readOnly() throws {
        let home = try CommandHome(passcode: nil)
        _ = try home("token", "put", "s", "a", input: Array("value".utf8))
        let script = """
            mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 99
            "$0" status --json --home "$1" || exit 98
            for c in "token put s b" "token remove s a" "wipe --yes" "file add /etc/hostname"; do
                echo value | "$0" $c --home "$1" --json >/dev/null; echo $?
            done
            """
        let run = try Namespace.run(script, [home.path])
        #expect(run.code == 0 && run.text.hasSuffix("1\n1\n1\n1\n") && run.text.contains("unlocked"))
        // The reason, not only the file that could not be opened.
        #expect(run.errorText.contains("must be writable because"), "\(run.errorText)")
        #expect(try home("token", "get", "s", "a").text == "value")
    }

    @Test("A full disk loses nothing, and can be wiped", .enabled(if: Namespace.isAvailable))
    func fullDisk() throws {
        let folder = try ScratchDirectory.make()
        let script = """
            mount -t tmpfs -o size=256k tmpfs "$1" || exit 99
            home="$1/home"
            "$0" init --no-passcode --home "$home" >/dev/null || exit 98
            printf value | "$0" token put s a --home "$home" || exit 97
            dd if=/dev/zero of="$1/fill" bs=4k 2>/dev/null
            head -c 20000 /dev/zero | "$0" token put s b --home "$home" 2>/dev/null; echo $?
            "$0" file add "$0" --home "$home" 2>/dev/null; echo $?
            "$0" token get s a --home "$home"; echo
            find "$1" -name '.tmp-*'
            "$0" wipe --yes --home "$home" >/dev/null; echo $?
            "$0" status --home "$home" | head -1
            """
        let run = try Namespace.run(script, [folder.path(of: ".")])
        #expect(
            run.code == 0 && run.text == "1\n1\n1\nvalue\n0\nstate: wiped\n", "\(run.text)\(run.errorText)")
    }

    @Test("Few descriptors and no locked memory: an error at most, never a crash")
    func limits() throws {
        let home = try CommandHome(passcode: nil)
        _ = try home("token", "put", "s", "a", input: Array("value".utf8))
        for limit in ["-n 8", "-n 9", "-n 12", "-l 0"] {
            let run = try CommandRun.run(
                "sh",
                [
                    "-c", "ulimit \(limit); exec \"$0\" token get s a --home \"$1\"", CommandRun.cofferPath,
                    home.path,
                ])
            #expect(run.code == 0 ? run.text == "value" : run.code < 128, "\(limit)")
        }
        #expect(try home("token", "get", "s", "a").text == "value")
    }

    @Test("A lock that is held for long is busy; reading needs none")
    func busy() throws {
        let home = try CommandHome(passcode: nil)
        _ = try home("token", "put", "s", "a", input: Array("value".utf8))
        let holder = try #require(
            Helper(["flock", "-F", home.path + "/lock", "sh", "-c", "echo ready; read line"]))
        let run = try home("token", "put", "s", "b", "--json", input: [1])
        #expect(run.code == 75 && run.errorCode == "busy")
        holder.kill()
    }
}
