import CofferBase
import CofferCrypto
import CofferEngine

/// How far the index was complete when it was last changed: without it, damage to the last frame would look
/// like the rest of a change that a crash cut.
///
/// Layout: length of the index (8), HMAC of its last frame, or 32 zeros (32), HMAC-SHA256 under a key of the
/// device over the head of the file, both and, from version 3 on, the number of its place (1) (32). There are
/// two places for it, each in a sector of its own, written in turn: of two that are authentic the longer
/// counts. Bound to its place, the older one cannot be put over the newer to hide a file. It is written after
/// the frame is flushed, so it never claims what a power cut could take.
struct FileIndexCommit: Equatable {
    static let size = 72
    /// Where the two are in the file.
    static let offsets = [512, 1024]

    let end: Int64
    let lastTag: [UInt8]

    /// As it stands in one of the places of an index that begins with `head`.
    func encoded(
        head: [UInt8], place: Int, key: borrowing SymmetricKey
    ) throws(CofferError) -> [UInt8] {
        var writer = BinaryWriter()
        writer.append(UInt64(end))
        writer.append(lastTag)
        let message = Self.message(head, writer.bytes, place)
        return writer.bytes + (try HMAC.authenticate(message.span, key: key))
    }

    private static func message(_ head: [UInt8], _ body: [UInt8], _ place: Int) -> [UInt8] {
        head + body + (head.span.bigEndian(UInt16.self, at: 8) > 2 ? [UInt8(place)] : [])
    }

    /// The one that counts in `file`, in which place it is, and whether the one in the other place is
    /// authentic, too; `nil` when neither is.
    static func newest(
        in file: [UInt8], head: [UInt8], key: borrowing SymmetricKey
    ) throws(CofferError) -> (commit: FileIndexCommit, place: Int, isOtherWhole: Bool)? {
        var newest: (commit: FileIndexCommit, place: Int, isOtherWhole: Bool)?
        for (place, offset) in offsets.enumerated() where file.count >= offset + size {
            let body = Array(file[offset..<offset + size - FileIndexFrame.tagSize])
            let tag = Array(file[offset + body.count..<offset + size])
            let message = message(head, body, place)
            guard try HMAC.isValid(tag.span, for: message.span, key: key) else { continue }
            var reader = BinaryReader(body, name: FileIndex.what)
            let commit = FileIndexCommit(
                end: Int64(clamping: try reader.number(UInt64.self)),
                lastTag: try reader.take(FileIndexFrame.tagSize))
            if let former = newest, former.commit.end >= commit.end {
                newest?.isOtherWhole = true
            } else {
                newest = (commit, place, newest != nil)
            }
        }
        return newest
    }
}
