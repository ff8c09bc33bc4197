import CofferBase
import CofferDatabase
import CofferEngine
import CofferEngineSQLite
import Foundation
import SystemPackage

@_silgen_name("fork") func forked() -> Int32

/// The mode that seals pages before and after a fork, through the files of one open database.
struct ForkAgent {
    let format: CodecFormat
    let key: [UInt8]
    let path: String

    init(_ agent: DatabaseAgent) throws {
        guard let format = CodecFormat(rawValue: agent.format.rawValue) else {
            throw CofferError(.invalidInput, "no such format")
        }
        self.format = format
        key = DatabaseAgent.bytes(agent.keyHex)
        path = agent.path.string
    }

    private static let pageSize = 4096
    private static let writes = 3

    func run() throws {
        let handle = try DatabaseKeyHandle.register(format, secret: GuardedBytes.copying(key.span))
        let sql = "CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(20000))"
        guard let probe = FileAccessProbe.open(handle.uri(for: path), .main, after: sql) else {
            throw CofferError(.internalFailure, "The database does not open.")
        }
        // Anything that is fetched ahead is there now.
        try seal(probe, page: 1)
        let done = Pipe()
        let child = forked()
        guard child >= 0 else { throw CofferError(.internalFailure, "fork") }
        // Pages of its own for each process, so that all can be read at the end.
        for number in 0..<Self.writes { try seal(probe, page: (child == 0 ? 2 : 2 + Self.writes) + number) }
        if child == 0 {
            try done.fileHandleForWriting.write(contentsOf: Data("done".utf8))
            _exit(0)
        }
        try done.fileHandleForWriting.close()
        guard try done.fileHandleForReading.readToEnd() == Data("done".utf8) else {
            throw CofferError(.internalFailure, "The child did not seal its pages.")
        }
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        for number in 1..<2 + 2 * Self.writes {
            let tail = (number + 1) * Self.pageSize - format.reserve
            let nonce = bytes[tail..<tail + (format == .gcm1 ? 24 : 16)]
            DatabaseAgent.say("nonce " + nonce.map { String(UInt16($0) + 256, radix: 16) }.joined())
        }
        withExtendedLifetime(handle) {}
    }

    private func seal(_ probe: FileAccessProbe, page: Int) throws {
        let code = probe.write(
            [UInt8](repeating: UInt8(page), count: Self.pageSize - format.reserve)
                + [UInt8](repeating: 0, count: format.reserve), at: Int64(page * Self.pageSize))
        guard code == 0 else { throw CofferError(.inputOutput, "SQLite's code \(code)") }
    }
}
