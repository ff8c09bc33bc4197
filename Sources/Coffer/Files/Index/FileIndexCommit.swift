import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

/// An authenticated record of the index's length after its last change. Without a commit, damage to the last
/// frame would look like the remains of a change that a crash interrupted.
///
/// Layout, with sizes in bytes: the index's length (8); the HMAC of its last frame, or 32 zeros if there is
/// none (32); an HMAC-SHA256 under a key derived from the device key (32). The latter covers the file's head,
/// both fields and, from version 3 on, the number of the commit's place (1). The index has two places for
/// commits, each in its own sector, which are written alternately. Of two authentic commits, the one with the
/// greater length is valid. Binding the commit to its place prevents an attacker from hiding a file by
/// copying the older commit over the newer one. The commit is written after the frame is flushed, so it never
/// covers data that a power failure could lose.
struct FileIndexCommit: Equatable {
    static let size = 72
    /// The offsets of the two commits in the file.
    static let offsets = [512, 1024]

    let end: Int64
    let lastTag: [UInt8]

    /// Encodes the commit for the given place in an index that begins with `head`.
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

    /// Returns the valid commit in `file`, its place, and whether the commit in the other place is also
    /// authentic; `nil` if neither is.
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
