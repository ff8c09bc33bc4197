import CofferBase
import CofferEngine
import SystemPackage

/// Looks for secrets in everything below a directory: in contents and in names, raw, hexadecimal and Base64.
struct ResidueSearch {
    /// What is looked for, by what it is called.
    private var needles: [(what: String, bytes: [UInt8])] = []

    /// Shorter bytes would be found by chance.
    private static let shortest = 6
    private static let pieceSize = 1 << 20

    /// Adds a secret in every form in which it might lie about.
    mutating func add(_ what: String, _ secret: [UInt8]) throws(CofferError) {
        guard secret.count >= Self.shortest else { return }
        let hex = try Encoding.hexText(secret)
        needles.append((what, secret))
        needles.append(("\(what) in hexadecimal", hex))
        // The first characters of each of the three alignments in which Base64 can hold it.
        for shift in 0..<3 {
            let shifted = [UInt8](repeating: 0, count: shift) + secret
            let text = try Encoding.base64Text(shifted)
            let core = Array(text.dropFirst(shift == 0 ? 0 : 4).dropLast(4))
            if core.count >= Self.shortest { needles.append(("\(what) in Base64", core)) }
        }
    }

    /// Where something was found below `root`; a root that is not there holds nothing.
    func hits(below root: FilePath) throws(CofferError) -> [String] {
        guard let directory = try? Descriptor.open(root, [.read, .directory]) else { return [] }
        return try hits(in: directory)
    }

    private func hits(in directory: borrowing Descriptor) throws(CofferError) -> [String] {
        var found: [String] = []
        for name in try directory.names() {
            let nameBytes = FileNameBytes.of(name)
            found += needles(in: nameBytes.span).map { "\($0) in the name of an entry of \(directory.path)" }
            switch try directory.status(of: name)?.kind {
            case .directory: found += try hits(in: directory.open(name, [.read, .directory]))
            case .regular: found += try hits(in: directory.open(name, [.read, .nonBlocking]), named: name)
            default: continue
            }
        }
        return found
    }

    /// Reads piece by piece, each with the end of the one before.
    private func hits(in file: borrowing Descriptor, named name: FilePath) throws(CofferError) -> [String] {
        let overlap = needles.map(\.bytes.count).max() ?? 0
        var buffer = [UInt8](repeating: 0, count: Self.pieceSize + overlap)
        var found: Set<String> = []
        var offset: Int64 = 0
        while true {
            var span = buffer.mutableSpan
            let count = try file.read(at: offset, into: &span)
            found.formUnion(needles(in: buffer.span.extracting(..<count)))
            guard count == buffer.count else { break }
            offset += Int64(Self.pieceSize)
        }
        return found.sorted().map { "\($0) in \(file.path)" }
    }

    private func needles(in bytes: Span<UInt8>) -> [String] {
        var found: [String] = []
        for needle in needles where ByteSearch.firstIndex(of: needle.bytes.span, in: bytes) != nil {
            found.append(needle.what)
        }
        return found
    }
}
