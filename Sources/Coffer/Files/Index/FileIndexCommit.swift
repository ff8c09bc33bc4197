import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

/// How far the index was complete at its last change. Without it, damage to the last frame would look like
/// the remains of a change that a crash interrupted.
///
/// Layout: length of the index (8), HMAC of its last frame, or 32 zeros (32), HMAC-SHA256 under a key
/// derived from the device key over the head of the file, both fields and, from version 3 on, the number of
/// its place (1) (32). There are two places for it, each in its own sector, written alternately. Of two
/// authentic commits, the longer one is valid. Binding the commit to its place prevents an attacker from
/// putting the older one over the newer to hide a file. It is written after the frame is flushed, so it
/// never covers data that a power failure could lose.
struct FileIndexCommit: Equatable {
    static let size = 72
    /// The offsets of the two commits in the file.
    static let offsets = [512, 1024]

    let end: Int64
    let lastTag: [UInt8]

    /// Encodes the commit for one of the places of an index that begins with `head`.
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

    /// Returns the valid commit in `file`, its place, and whether the commit in the other place is authentic
    /// too; `nil` if neither is.
    static func newest(
        in file: [UInt8], head: [UInt8], key: borrowing SymmetricKey
    ) throws(CofferError) -> (commit: FileIndexCommit, place: Int, isOtherWhole: Bool)? {
        var newest: (commit: FileIndexCommit, place: Int, isOtherWhole: Bool)?
        for (place, offset) in offsets.enumerated() where file.count >= offset + size {
            let body = Array(file[offset..<offset + size - FileIndexFrame.tagSize])
            let tag = Array(file[offset + body.count..<offset + size])
            let message = message(head, body, place)
            guard try HMAC.isValid(tag.span, for: message.span, key: key) else { continue }
            var reader = BinaryReader(body, name: FileIndex.displayName)
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
