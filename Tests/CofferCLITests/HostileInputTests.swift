import Foundation
import Testing
import TestSupport

/// Inputs of `crypt`, `key` and `vectors` that are too large, not what they should be, or damaged.
@Suite("Hostile input")
struct HostileInputTests {
    private static let key = String(repeating: "0f", count: 32)
    private static let vectors = """
        {"algorithm": "HMACSHA256", "numberOfTests": 1, "testGroups": [{"type": "MacTest", "tests": [
        {"tcId": 1, "key": "4a656665", "msg": "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
        "tag": "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843", "result": "valid"}]}]}
        """

    private func inFolder<R>(_ body: (URL) throws -> R) throws -> R {
        let folder = FileManager.default.temporaryDirectory.appending(path: "coffer-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(folder)
    }

    private func verify(_ paths: [String], _ options: [String] = []) throws -> CommandRun {
        try CommandRun.run(
            CommandRun.cofferPath, ["vectors", "verify", "--json"] + options + paths, seconds: 180)
    }

    /// OpenSSL counts in 32 bits with a sign. Messages are bounded below that, and a file that is longer is
    /// refused before it is read.
    @Test(
        "A message of more than 1 GiB is a usage error",
        arguments: [(1 << 30) + 1, (1 << 31) - 1, 1 << 31, (1 << 32) + 1],
        ["documented-cbc", "cbc-hmac", "aes-gcm"])
    func largeMessages(size: Int, scheme: String) throws {
        try inFolder { folder in
            let sparse = folder.appending(path: "sparse").path(percentEncoded: false)
            #expect(try CommandRun.run("truncate", ["-s", String(size), sparse]).code == 0)
            for direction in ["encrypt", "decrypt"] {
                let run = try CommandRun.run(
                    "/bin/sh",
                    [
                        "-c", "exec \"$@\" <\"$0\"", sparse, CommandRun.cofferPath, "crypt", direction,
                        "--scheme", scheme, "--key-hex-fd", "3",
                    ], descriptors: [3: Array(Self.key.utf8)])
                #expect(run.code == 64 && run.output.isEmpty)
                #expect(run.errorText.contains("at most 1073741824 bytes"))
            }
        }
    }

    @Test("The documented key hashes the passcode's bytes as they are")
    func passcodesAreBytes() throws {
        let identifier = "6F9619FF-8B86-4011-B42D-00C04FC964FF"
        let passcodes: [[UInt8]] = [
            Array("a\0b".utf8), [0], Array("a\0".utf8), [0x61, 0xff, 0x62], [0xc3], [0xed, 0xa0, 0x80],
            Array("\u{e9}".utf8), Array("e\u{301}".utf8), Array("\u{212b}".utf8), Array("\u{c5}".utf8),
            Array("\u{feff}1234".utf8), Array(" 1234 ".utf8), Array("1234\r".utf8),
        ]
        let script = """
            import base64, hashlib, sys
            code = base64.b64encode(hashlib.sha256(sys.stdin.buffer.read()).digest()).decode()
            print(code, hashlib.sha256((sys.argv[1] + code).encode()).hexdigest())
            """
        var hashes: Set<String> = []
        for passcode in passcodes {
            let run = try CommandRun.coffer(
                "key", "documented", "--uuid", identifier, "--passcode-fd", "3", "--json",
                descriptors: [3: passcode])
            let expected = try CommandRun.run("python3", ["-c", script, identifier], input: passcode)
            let hash = try #require(run.json["passcodeHash"] as? String)
            let key = try #require(run.json["key"] as? String)
            #expect(run.code == 0 && "\(hash) \(key)\n" == expected.text)
            hashes.insert(hash)
        }
        #expect(hashes.count == passcodes.count)
    }

    @Test("A pipe, a device or a folder where a file with a key is expected is refused and not waited for")
    func notKeyFiles() throws {
        let home = try CommandHome(passcode: nil)
        let pipe = home.folder.appending(path: "pipe").path(percentEncoded: false)
        #expect(try CommandRun.run("mkfifo", [pipe]).code == 0)
        for path in [pipe, "/dev/zero", home.path] {
            let run = try home("key", "import", "work", path)
            #expect(run.code == 64 && run.errorText.contains("must be a regular file"), "\(run.errorText)")
        }
    }

    @Test("A pipe or a folder where a vector file is expected is reported and not waited for")
    func notFiles() throws {
        try inFolder { folder in
            let pipe = folder.appending(path: "pipe.json").path(percentEncoded: false)
            #expect(try CommandRun.run("mkfifo", [pipe]).code == 0)
            let inside = folder.appending(path: "folder.json")
            try FileManager.default.createDirectory(at: inside, withIntermediateDirectories: false)
            let good = inside.appending(path: "good.json")
            try Data(Self.vectors.utf8).write(to: good)
            let goodPath = good.path(percentEncoded: false)
            for paths in [[pipe], [folder.path(percentEncoded: false)], [goodPath, pipe]] {
                let run = try verify(paths)
                #expect(run.code == 1 && run.json["failed"] as? Int == 1)
            }
            #expect(try verify([goodPath]).code == 0)
            #expect(try verify([goodPath], ["--manifest", pipe]).code == 64)
            #expect(try verify([goodPath], ["--junit", pipe]).code == 1)
            #expect(try verify([folder.appending(path: "absent").path(percentEncoded: false)]).code == 3)
        }
    }

    @Test("Damaged vector files fail, each with one sentence, and never take a neighbour with them")
    func damaged() throws {
        let test = "{\"tcId\": 1, \"key\""
        let bytes: [[UInt8]] = [
            [], [0], Array(Self.vectors.utf8.dropLast()), Array(Self.vectors.utf8.prefix(100)),
            Array(Self.vectors.utf8) + [0], Array((Self.vectors + Self.vectors).utf8),
            Array(Self.vectors.utf8).map { $0 == UInt8(ascii: "J") ? 0xff : $0 } + [0xff],
            Array(repeating: UInt8(ascii: "["), count: 200_000),
            Array(repeating: UInt8(ascii: "{"), count: 200_000),
            Array(Self.vectors.replacing("4a656665", with: "4a65666").utf8),
            Array(Self.vectors.replacing("4a656665", with: "4A656665").utf8),
            Array(Self.vectors.replacing("\"valid\"", with: "\"vali\\u0000d\"").utf8),
            Array(Self.vectors.replacing("\"tcId\": 1", with: "\"tcId\": 1e400").utf8),
            Array(Self.vectors.replacing("\"tcId\": 1", with: "\"tcId\": -1").utf8),
            Array(Self.vectors.replacing("\"tcId\": 1", with: "\"tcId\": 99999999999999999999").utf8),
            Array(Self.vectors.replacing(test, with: "{\"tcId\": 1}, " + test).utf8),
        ]
        try inFolder { folder in
            let good = folder.appending(path: "good.json")
            try Data(Self.vectors.utf8).write(to: good)
            for (number, content) in bytes.enumerated() {
                let file = folder.appending(path: "damaged.json")
                try Data(content).write(to: file)
                let run = try verify([file, good].map { $0.path(percentEncoded: false) })
                #expect(run.code == 1, "number \(number)")
                #expect(run.json["passed"] as? Int ?? 0 >= 1, "number \(number)")
                #expect(run.json["failed"] as? Int ?? 0 >= 1, "number \(number)")
            }
        }
    }
}
