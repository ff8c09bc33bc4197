package import CofferBase

/// What is known of vector files: the digest of each, and how many of its tests pass, are refused and are
/// skipped.
///
/// A file whose digest is known must come out exactly so. A file that has a known name and another digest
/// fails: it was changed on the way.
package struct VectorManifest: Sendable {
    /// The file name of a manifest; such a file is never run as vectors.
    package static let fileName = "manifest.json"

    private struct Entry: Sendable {
        let name: String
        let digest: String
        let source: String
        let declared: Int
        let accepted: Int
        let refused: Int
        let skipped: [String: Int]
    }

    private var entries: [Entry] = []

    package init() {}

    /// Adds what the manifest in `contents` knows.
    ///
    /// - Throws: `corrupt` when it is not a manifest.
    package mutating func add(_ contents: [UInt8]) throws(CofferError) {
        guard let top = JSONValue.parse(contents)?.object, let files = top["files"]?.list else {
            throw CofferError(.corrupt, "The manifest is not a JSON document with a list of files.")
        }
        for file in files {
            guard let entry = file.object.flatMap({ Self.entry($0, in: top) }) else {
                throw CofferError(.corrupt, "An entry of the manifest is incomplete.")
            }
            entries.append(entry)
        }
    }

    private static func entry(_ file: [String: JSONValue], in top: [String: JSONValue]) -> Entry? {
        guard let name = file["name"]?.text, let digest = file["sha256"]?.text, digest.utf8.count == 64,
            let declared = file["declared"]?.integer, let accepted = file["passed"]?.integer,
            let refused = file["refused"]?.integer, let skipped = file["skipped"]?.object
        else { return nil }
        let upstream = file["upstream"]?.text ?? top["upstream"]?.text ?? ""
        let commit = file["commit"]?.text ?? top["commit"]?.text ?? ""
        let source = commit.isEmpty ? upstream : "\(upstream)@\(commit.prefix(7))"
        return Entry(
            name: name, digest: digest, source: source, declared: declared, accepted: accepted,
            refused: refused, skipped: skipped.compactMapValues(\.integer))
    }

    /// Holds the report against what is known of the file and adds what differs to its problems.
    func check(_ report: inout VectorReport, contents: [UInt8], includesSlow: Bool) {
        let name = report.path.split(separator: "/").last.map(String.init) ?? report.path
        guard entries.contains(where: { $0.name == name }) else { return }
        guard let digest = try? Digest.sha256.hash(contents.span).hexText,
            let entry = entries.first(where: { $0.name == name && $0.digest == digest })
        else {
            report.problems.append("its SHA-256 is not the one in the manifest: the file was changed")
            return
        }
        if !entry.source.isEmpty { report.source = entry.source }
        var (skipped, accepted) = (entry.skipped, entry.accepted)
        if includesSlow { accepted += skipped.removeValue(forKey: VectorReport.slowReason) ?? 0 }
        let counts = (report.declared, report.accepted, report.refused)
        guard counts == (entry.declared, accepted, entry.refused), report.skipped == skipped else {
            report.problems.append("its counts are not those of the manifest")
            return
        }
    }
}

extension [UInt8] {
    fileprivate var hexText: String { HexText.encode(self) }
}
