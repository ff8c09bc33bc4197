import CofferBase
import CofferEngine
import SystemPackage

/// A search for secrets in the contents and names of all files below a directory, and in other places that
/// could contain secrets.
struct MemoryScanner {
    private var needles = SecretPatterns()

    private static let chunkSize = 1 << 20
    /// The maximum number of bytes that are searched in each file.
    private static let maxFileByteCount: Int64 = 256 << 20

    /// Adds a secret to search for. Ignores a secret that is shorter than 8 bytes. If `isWhole` is `true`,
    /// only the whole secret matches; otherwise, any 8 consecutive bytes of it match.
    mutating func add(_ name: String, _ secret: Span<UInt8>, isWhole: Bool = false) {
        needles.add(name, secret, isWhole: isWhole)
    }

    /// The names of the secrets to search for.
    var names: [String] { needles.names }

    /// Returns the locations below `root` in which secrets were found. Returns an empty array if `root`
    /// cannot be opened.
    func matches(below root: FilePath) throws(CofferError) -> [String] {
        guard let directory = try? Descriptor.open(root, [.read, .directory]) else { return [] }
        return try matches(in: directory)
    }

    /// Returns the matches in `bytes`, which come from `source`.
    func matches(in bytes: Span<UInt8>, of source: String) -> [String] {
        needles.found(in: bytes).sorted().map { "\($0) in \(source)" }
    }

    /// Returns the matches in this process's own memory.
    func matchesInMemory() throws(CofferError) -> [String] {
        var found: Set<String> = []
        try ProcessMemory.withSelfMemory { () throws(CofferError) in
            try ProcessMemory.forEachPiece(overlap: needles.maxPatternLength) { piece in
                found.formUnion(needles.found(in: piece))
            }
        }
        return found.sorted().map { "\($0) in the memory of this process" }
    }

    private func matches(in directory: borrowing Descriptor) throws(CofferError) -> [String] {
        var found: [String] = []
        for name in try directory.names() {
            let nameBytes = FileNameBytes.of(name)
            found += needles.found(in: nameBytes.span).sorted().map {
                "\($0) in the name of an entry of \(directory.path)"
            }
            do throws(CofferError) {
                switch try directory.status(of: name)?.kind {
                case .directory: found += try matches(in: directory.open(name, [.read, .directory]))
                case .regular:
                    found += try matches(in: directory.open(name, [.read, .nonBlocking]), named: name)
                default: continue
                }
            } catch {
                // The entry has been removed meanwhile, or belongs to another user.
                guard error.code == .absent || error.code == .permissionDenied else { throw error }
            }
        }
        return found
    }

    /// Searches a file in chunks, each of which overlaps the previous one.
    private func matches(in file: borrowing Descriptor, named name: FilePath) throws(CofferError) -> [String]
    {
        var buffer = [UInt8](repeating: 0, count: Self.chunkSize + needles.maxPatternLength)
        defer { buffer.clear() }
        var found: Set<String> = []
        var offset: Int64 = 0
        while true {
            var span = buffer.mutableSpan
            let count = try file.read(at: offset, into: &span)
            found.formUnion(needles.found(in: buffer.span.extracting(..<count)))
            guard count == buffer.count, offset < Self.maxFileByteCount else { break }
            offset += Int64(Self.chunkSize)
        }
        return found.sorted().map { "\($0) in \(file.path)" }
    }
}
