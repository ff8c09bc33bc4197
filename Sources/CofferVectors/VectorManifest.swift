package import CofferBase
import CofferCrypto

/// The known vector files: the digest of each file and the numbers of its tests that are accepted, refused
/// and skipped.
///
/// A file with a known digest must have exactly these results. A file with a known name and another digest
/// fails, because it was changed.
package struct VectorManifest: Sendable {
    /// The file name of a manifest. Such a file is never run as vectors.
    package static let fileName = "manifest.json"

    /// A file's expected results. An entry that contains only the digest has none.
    private struct Expected: Sendable {
        let accepted: Int
        let refused: Int
        /// The number of tests for which both results are correct.
        let acceptable: Int
        let skipped: [String: Int]
    }

    private struct Entry: Sendable {
        let name: String
        let digest: String
        let source: String
        let declared: Int?
        let expected: Expected?
    }

    private var entries: [Entry] = []

    package init() {}

    /// Adds the entries of the manifest in `contents`: sets of files, each set with its upstream source.
    ///
    /// - Throws: `corrupt` if the contents are not a manifest.
    package mutating func add(_ contents: [UInt8]) throws(CofferError) {
        guard let sets = (try? JSONValue(parsing: contents))?.object?["sets"]?.array else {
            throw CofferError(.corrupt, "The manifest is not a JSON document with a list of sets.")
        }
        for set in sets {
            guard let set = set.object, let name = set["name"]?.string, let files = set["files"]?.array else {
                throw CofferError(.corrupt, "A set in the manifest is incomplete.")
            }
            let commit = set["commit"]?.string ?? ""
            let source = commit.isEmpty ? name : "\(name)@\(commit.prefix(7))"
            for file in files {
                guard let entry = file.object.flatMap({ Self.entry($0, source: source) }) else {
                    throw CofferError(.corrupt, "An entry in the manifest is incomplete.")
                }
                entries.append(entry)
            }
        }
    }

    private static func entry(_ file: [String: JSONValue], source: String) -> Entry? {
        guard let name = file["file"]?.string, let digest = file["sha256"]?.string, digest.utf8.count == 64
        else {
            return nil
        }
        var expected: Expected?
        if let counts = file["expected"] {
            guard let counts = counts.object, let accepted = counts["accepted"]?.int,
                let refused = counts["refused"]?.int, let acceptable = counts["acceptable"]?.int,
                let skipped = counts["skipped"]?.object
            else { return nil }
            expected = Expected(
                accepted: accepted, refused: refused, acceptable: acceptable,
                skipped: skipped.compactMapValues(\.int))
        }
        return Entry(
            name: name, digest: digest, source: source, declared: file["declared"]?.int,
            expected: expected)
    }

    /// Compares the report with the file's known results, and adds any differences to the report's problems.
    func check(_ report: inout VectorReport, contents: [UInt8], includesSlow: Bool) {
        let name = report.path.parts(between: "/").last ?? report.path
        guard entries.contains(where: { $0.name == name }) else { return }
        guard let digest = try? Digest.sha256.hash(contents.span).hexText,
            let entry = entries.first(where: { $0.name == name && $0.digest == digest })
        else {
            report.problems.append("its SHA-256 is not the one in the manifest: the file was changed")
            return
        }
        report.source = entry.source
        if let declared = entry.declared, declared != report.declared {
            report.problems.append("it declares a different number of tests than the manifest")
        }
        guard let expected = entry.expected else { return }
        var (skipped, accepted) = (expected.skipped, expected.accepted)
        if includesSlow { accepted += skipped.removeValue(forKey: VectorReport.slowReason) ?? 0 }
        let ran = accepted + expected.refused + expected.acceptable
        guard report.skipped == skipped, report.accepted + report.refused == ran, report.accepted >= accepted,
            report.refused >= expected.refused
        else {
            report.problems.append("its counts differ from those in the manifest")
            return
        }
    }
}

extension [UInt8] {
    fileprivate var hexText: String { HexText.encode(self) }
}
