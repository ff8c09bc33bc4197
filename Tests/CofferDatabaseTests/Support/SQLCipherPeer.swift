import Foundation
import TestSupport

/// SQLCipher in a process of its own: two libraries with SQLite's names must not meet in one process.
enum SQLCipherPeer {
    /// The interpreter that Scripts/setup-packages --tests gives SQLCipher to.
    private static let python = PackageRoot.path + ".build/sqlcipher/bin/python"
    private static let script = PackageRoot.path + "Tests/Independent/sqlcipher_peer.py"

    /// Whether it is there; without a package registry it cannot be had.
    static let isAvailable: Bool = {
        guard FileManager.default.fileExists(atPath: python) else { return false }
        return (try? CommandRun.run(python, [script, "version", ":memory:", "00"]).code) == 0
    }()

    /// Runs a mode; gives what it printed, word by word.
    static func run(
        _ mode: String, _ path: String, _ key: [UInt8], _ more: String...
    ) throws -> [String: String] {
        let run = try CommandRun.run(python, [script, mode, path, key.hex] + more)
        guard run.code == 0 else { return ["failed": run.errorText] }
        return Dictionary(
            run.text.split(separator: "\n").map { line in
                let words = line.split(separator: " ", maxSplits: 1).map(String.init)
                return (words[0], words.count > 1 ? words[1] : "")
            }, uniquingKeysWith: { $1 })
    }

    /// The arguments for a ``Helper`` that leaves a hot WAL or journal.
    static func hot(_ path: String, _ key: [UInt8], _ journal: String) -> [String] {
        [python, script, "hot", path, key.hex, journal]
    }
}

/// The second process of this package's own: Tests/DatabaseAgent.
enum DatabaseAgent {
    static let path = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appending(path: "DatabaseAgent").path(percentEncoded: false)
}
