import CofferBase
import CofferDatabase
import CofferEngine
import CofferEngineSQLite
import Foundation
import SystemPackage

/// The mode that writes known bytes to one place of a nameless file again and again, in two processes, and
/// compares what stood on the disk.
enum TemporaryAgent {
    private static let size = 4096
    private static let place: Int64 = 3 * 4096

    /// A version of the page: what was written, and what it was on the disk.
    private struct Version {
        let clear: [UInt8]
        let disk: [UInt8]

        init(_ fill: UInt8, _ probe: FileAccessProbe, _ file: String) throws {
            clear = (0..<TemporaryAgent.size).map { fill &+ UInt8(truncatingIfNeeded: $0 &* Int(fill)) }
            guard probe.write(clear, at: TemporaryAgent.place) == 0 else {
                throw CofferError(.inputOutput, "The page was not written.")
            }
            disk = try Version.bytes(file)
        }

        init(clear: [UInt8], disk: [UInt8]) {
            self.clear = clear
            self.disk = disk
        }

        static func bytes(_ file: String) throws -> [UInt8] {
            let start = Int(TemporaryAgent.place)
            let all = [UInt8](try Data(contentsOf: URL(filePath: file)))
            guard all.count >= start + TemporaryAgent.size else {
                throw CofferError(.internalFailure, "The file is too short.")
            }
            return Array(all[start..<start + TemporaryAgent.size])
        }

        /// In how many blocks of 16 bytes the key stream of `other` was used.
        func shared(with other: Version) -> Int {
            stride(from: 0, to: clear.count, by: 16).count { start in
                (start..<start + 16).allSatisfy {
                    clear[$0] ^ other.clear[$0] == disk[$0] ^ other.disk[$0]
                }
            }
        }
    }

    /// Takes the file of a temporary database, through the VFS or plain.
    static func run(_ agent: DatabaseAgent, isEncrypted: Bool) throws {
        let key = try GuardedBytes.copying(DatabaseAgent.bytes(agent.keyHex).span)
        let handle = try DatabaseKeyHandle.register(.gcm1, secret: key)
        let path = agent.path.string
        try run(isEncrypted ? handle.uri(for: path) : "file:\(path)?vfs=unix")
        withExtendedLifetime(handle) {}
    }

    private static func run(_ uri: String) throws {
        let sql = """
            PRAGMA temp_store = FILE; CREATE TEMP TABLE t (x); PRAGMA temp.cache_size = 1;
            INSERT INTO t VALUES (randomblob(200000))
            """
        guard let probe = FileAccessProbe.open(uri, .temporary, after: sql), let file = file() else {
            throw CofferError(.internalFailure, "There is no temporary file.")
        }
        var versions = try ([1, 2, 3] as [UInt8]).map { try Version($0, probe, file) }
        let pipe = Pipe()
        let child = forked()
        guard child >= 0 else { throw CofferError(.internalFailure, "fork") }
        if child == 0 {
            let version = try Version(4, probe, file)
            try pipe.fileHandleForWriting.write(contentsOf: Data(version.clear + version.disk))
            _exit(0)
        }
        try pipe.fileHandleForWriting.close()
        let sent = [UInt8](try pipe.fileHandleForReading.readToEnd() ?? Data())
        guard sent.count == 2 * size else { throw CofferError(.internalFailure, "The child failed.") }
        versions.append(Version(clear: Array(sent[..<size]), disk: Array(sent[size...])))
        versions.append(try Version(5, probe, file))
        let pairs = versions.indices.flatMap { left in versions.indices[(left + 1)...].map { (left, $0) } }
        let shared = pairs.count { versions[$0.0].shared(with: versions[$0.1]) > 0 }
        DatabaseAgent.say("pairs \(pairs.count), of one key stream \(shared)")
        let read = probe.read(size, at: place)
        guard read.code == 0, read.bytes == versions.last?.clear else {
            throw CofferError(.corrupt, "What was written last is not what is read.")
        }
    }

    /// The one temporary file of this process.
    private static func file() -> String? {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        let found = names.map { "/proc/self/fd/" + $0 }.filter {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: $0))?.contains("etilqs_") == true
        }
        return found.count == 1 ? found[0] : nil
    }
}
