import CofferEngine
import CSQLite

extension DatabaseFile {
    /// Whether the file is empty although its database had pages: something truncated it in the middle of a
    /// transaction.
    ///
    /// SQLite treats an empty file as a new database and deletes the journal beside it. After a crash in its
    /// first transaction, a new database can also have a journal beside it, but that journal records that
    /// there were no pages before. SQLite never leaves a journal that records pages beside an empty file.
    var isEmptied: Bool {
        guard lower.size == 0, let path = FileNameBytes.path(opening.path + Array("-journal".utf8)),
            let journal = try? Descriptor.open(path, [.read, .nonBlocking])
        else { return false }
        let header = Scratch(count: JournalSeal.headerSize)
        let count = header.region.withMutableSpan { try? journal.read(at: 0, into: &$0) }
        return count == header.region.count && header.region.part(0, 8).equals(JournalRecord.magic)
            && header.region.bigEndian32(16) > 0
    }
}
