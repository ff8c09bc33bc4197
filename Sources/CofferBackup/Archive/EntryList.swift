import CofferBase
import CofferEngine

/// The text of `complete.json`: the path, the size and the SHA-256 of every entry before it, in their order.
///
/// The text of the same entries is always the same, so a reader compares it instead of parsing it, and keeps
/// only its hash.
struct EntryList: ~Copyable {
    private static let start = Array("{\"format\":1,\"entries\":[".utf8)
    private static let end = Array("\n]}\n".utf8)

    /// The text so far; `nil` in a list that keeps only its hash.
    private var text: [UInt8]?
    private var digest: DigestContext
    private(set) var size: Int64 = 0
    private(set) var count = 0

    private init(_ text: [UInt8]?, _ digest: consuming DigestContext) {
        self.text = text
        self.digest = digest
    }

    /// Creates an empty list.
    static func make(keepingText: Bool) throws(CofferError) -> EntryList {
        var list = EntryList(keepingText ? [] : nil, try DigestContext.make(.sha256))
        try list.append(start)
        return list
    }

    /// Adds an entry.
    mutating func add(_ name: EntryName, size: Int64, digest: [UInt8]) throws(CofferError) {
        let line =
            (count > 0 ? ",\n" : "\n")
            + "{\"path\":\"\(name.path)\",\"size\":\(size),\"sha256\":\"\(HexText.encode(digest))\"}"
        try append(Array(line.utf8))
        count += 1
    }

    /// Returns the complete text.
    consuming func finish() throws(CofferError) -> [UInt8] {
        try append(Self.end)
        return text ?? []
    }

    /// Returns the size and the hash of the complete text.
    consuming func finishDigest() throws(CofferError) -> (size: Int64, digest: [UInt8]) {
        try append(Self.end)
        let size = size
        return (size, try digest.finished())
    }

    private mutating func append(_ bytes: [UInt8]) throws(CofferError) {
        try digest.update(bytes.span)
        size += Int64(bytes.count)
        text?.append(contentsOf: bytes)
    }
}

extension DigestContext {
    /// Returns the SHA-256 of what was added.
    consuming func finished() throws(CofferError) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: 32)
        var span = result.mutableSpan
        try finish(into: &span)
        return result
    }
}
