import BenchReport
import CofferBase
import CofferEngine
import FoundationEssentials
import SystemPackage

/// Reports on disk.
enum ReportFile {
    /// Writes the JSON.
    static func write(_ report: Report, to path: String) throws(CofferError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            try write(String(decoding: encoder.encode(report), as: UTF8.self) + "\n", to: path)
        } catch {
            throw CofferError(.inputOutput, "Cannot write \(path): \(error).")
        }
    }

    /// Writes text, replacing an existing file.
    static func write(_ text: String, to path: String) throws(CofferError) {
        let bytes = Array(text.utf8)
        let file = try Descriptor.open(FilePath(path), [.readWrite, .create])
        try file.truncate(to: 0)
        try file.write(bytes.span, at: 0)
        try file.close()
    }

    /// Reads the JSON of an earlier run.
    static func read(_ path: String) throws(CofferError) -> Report {
        let bytes = try Descriptor.open(FilePath(path), .read).readAll(limit: 16 << 20)
        do {
            return try JSONDecoder().decode(Report.self, from: Data(bytes))
        } catch {
            throw CofferError(.invalidInput, "\(path) is not a report of bench: \(error).")
        }
    }
}
