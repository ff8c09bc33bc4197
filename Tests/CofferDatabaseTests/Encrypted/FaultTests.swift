import Foundation
import SystemPackage
import TestSupport
import Testing

/// Crashes and full disks while several processes use a database.
@Suite("Databases under kills and full disks")
struct FaultTests {
    private static let key = [UInt8].counting(32).hex

    @Test(
        "Killed writers and readers leave every commit that was acknowledged",
        arguments: ["wal", "delete", "truncate", "persist"])
    func killRounds(journal: String) throws {
        let run = try CommandRun.run(
            "python3",
            [
                PackageRoot.path + "Tests/Faults/database_kill.py", DatabaseAgent.path, "--rounds", "3",
                "--journal", journal,
            ], seconds: 120)
        #expect(run.code == 0, "\(run.text) \(run.errorText)")
    }

    @Test(
        "What a killed writer left opens only under its own key and format, and flipped bits do no harm",
        arguments: ["gcm1", "sqlcipher4"], ["delete", "wal"])
    func hotFiles(format: String, journal: String) throws {
        let run = try CommandRun.run(
            "python3",
            [
                PackageRoot.path + "Tests/Faults/database_hot.py", DatabaseAgent.path, "--count", "3",
                "--format", format, "--journal", journal,
            ], seconds: 120)
        #expect(run.code == 0, "\(run.text) \(run.errorText)")
        #expect(run.text.hasSuffix("12 openings, 0 failed\n"), "\(run.text)")
    }

    @Test(
        "A full disk loses nothing that was committed", arguments: ["wal", "delete"], ["gcm1", "sqlcipher4"])
    func fullDisk(journal: String, format: String) throws {
        let scratch = try ScratchDirectory.make()
        let script = """
            mount -t tmpfs -o size=900k,mode=700 tmpfs "$1" || exit 99
            head -c 200000 /dev/zero >"$1/filler"
            run() { "$2" "$3" "$4" "$5" "$1/k.db" "$6" 0; }
            run "$1" "$2" make "$3" "$4" "$5"
            run "$1" "$2" write "$3" "$4" "$5" | tail -n 2
            rm "$1/filler"
            run "$1" "$2" check "$3" "$4" "$5"
            """
        let run = try CommandRun.run(
            "unshare",
            [
                "-Urm", "sh", "-c", script, "sh", scratch.path.string, DatabaseAgent.path, format, Self.key,
                journal,
            ],
            seconds: 120)
        // Where the kernel forbids such namespaces there is nothing to see.
        guard run.code != 99, !run.errorText.contains("unshare") else { return }
        let lines = run.text.split(separator: "\n")
        #expect(lines.contains("integrity ok") && lines.contains("disagreements 0"), "\(run.text)")
        #expect(run.text.contains("failed: SQLite error 13"), "\(run.text)")
        let told = lines.last { $0.hasPrefix("ack 0 ") }?.split(separator: " ").last.flatMap { Int($0) } ?? 0
        let kept =
            lines.first { $0.hasPrefix("count 0 ") }?.split(separator: " ").last.flatMap { Int($0) } ?? -1
        #expect(told > 0 && kept >= told, "\(run.text)")
    }
}
