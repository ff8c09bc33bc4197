import CofferBase
import CofferCrypto
import CofferEngine

/// The reader of a backup, from start to end and in bounded memory.
///
/// Every byte is authentic when it is returned, and ``next()`` returns `nil` only after the whole file was
/// found complete. Anyone who knows a recipient can make a backup for it, so no size, name or content is
/// trusted. Not safe for concurrent use.
final class ArchiveReader {
    /// The key that opens a backup.
    enum Key {
        case identities([AgeIdentity])
        case passphrase(ArchiveWriter.Passphrase)
    }

    /// An entry of the archive.
    struct Entry {
        let name: EntryName
        let size: Int64
    }

    private let file: Descriptor
    private var age: AgeReader
    /// The place of the encrypted bytes to read next.
    private let position: Position
    private var list: EntryList?
    private var current: Entry?
    /// The number of bytes of the entry that are not read yet.
    private var unread: Int64 = 0
    private var digest: DigestContext?
    private var last: EntryName?
    /// The SHA-256 of the last entry that was read to its end.
    private(set) var lastDigest: [UInt8] = []

    /// A place in the file, apart from the reader that advances it.
    private final class Position {
        var offset: Int64 = 0
        /// Gives every call for the file a deadline; `nil` for none.
        let watch: CallWatch?

        init(_ watch: CallWatch?) { self.watch = watch }
    }

    private init(
        _ file: consuming Descriptor, _ age: consuming AgeReader, _ position: Position,
        _ list: consuming EntryList
    ) {
        self.file = file
        self.age = age
        self.position = position
        self.list = consume list
    }

    /// Opens a backup.
    ///
    /// - Throws: The errors of `AgeReader`.
    static func open(
        _ file: borrowing Descriptor, with key: Key, _ watch: CallWatch? = nil
    ) throws(CofferError) -> ArchiveReader {
        let file = try file.duplicate()
        let position = Position(watch)
        let age: AgeReader
        switch key {
        case .identities(let identities):
            age = try AgeReader.open(identities: identities) { (buffer) throws(CofferError) in
                try read(file, position, into: &buffer)
            }
        case .passphrase(let passphrase):
            age = try AgeReader.open(passphrase: passphrase.secret) { (buffer) throws(CofferError) in
                try read(file, position, into: &buffer)
            }
        }
        return ArchiveReader(file, age, position, try EntryList.make(keepingText: false))
    }

    private static func read(
        _ file: borrowing Descriptor, _ position: Position, into buffer: inout MutableSpan<UInt8>
    ) throws(CofferError) -> Int? {
        let outer = try position.watch?.begin()
        defer { if let outer { position.watch?.end(outer) } }
        let count = try file.read(at: position.offset, into: &buffer)
        position.offset += Int64(count)
        return count > 0 ? count : nil
    }

    /// Reads what is left of the present entry, and goes to the next one.
    ///
    /// - Returns: The next entry; `nil` at the end of a complete backup.
    /// - Throws: `corrupt` if the backup is damaged, incomplete or no backup; `unsupportedVersion`.
    func next() throws(CofferError) -> Entry? {
        try finishEntry()
        guard list != nil else { return nil }
        let (name, size) = try header()
        guard last.map({ $0.precedes(name) }) ?? (name == .manifest), size <= name.sizeLimit,
            (list?.count ?? 0) <= EntryName.countLimit
        else { throw TarHeader.damaged }
        last = name
        guard name != .complete else {
            try finish(size)
            return nil
        }
        let entry = Entry(name: name, size: size)
        current = entry
        unread = size
        digest = try DigestContext.make(.sha256)
        return entry
    }

    /// Reads the entry's content into `buffer` until it is full or the content ends; returns the number of
    /// bytes.
    func read(into buffer: inout MutableSpan<UInt8>) throws(CofferError) -> Int {
        let wanted = Int(min(Int64(buffer.count), unread))
        guard wanted > 0 else { return 0 }
        var part = buffer._mutatingExtracting(..<wanted)
        try fill(&part)
        unread -= Int64(wanted)
        try digest?.update(part.span)
        return wanted
    }

    /// Returns the entry's whole content, which is not longer than its name allows, in guarded memory.
    func contents() throws(CofferError) -> GuardedBytes {
        guard let current, unread == current.size, current.size < 64 << 20 else { throw TarHeader.damaged }
        return try GuardedBytes.filled(count: Int(current.size)) { (target) throws(CofferError) in
            _ = try read(into: &target)
        }
    }

    /// Returns the entry's whole content, which is not secret or is sealed.
    func document() throws(CofferError) -> [UInt8] {
        let bytes = try contents()
        let span = bytes.span
        return span.copied()
    }

    /// Reads the entry to its end and returns the SHA-256 of the content.
    func finishedDigest() throws(CofferError) -> [UInt8] {
        try finishEntry()
        return lastDigest
    }

    private func finishEntry() throws(CofferError) {
        guard let done = current else { return }
        if unread > 0 {
            let buffer = try AlignedBuffer.make(count: 1 << 16)
            while unread > 0 {
                _ = try buffer.write(0..<buffer.count) { (span) throws(CofferError) in
                    try read(into: &span)
                }
            }
        }
        try expectZeros(TarHeader.padding(after: done.size))
        guard let digest = digest.take() else { throw TarHeader.damaged }
        lastDigest = try digest.finished()
        current = nil
        try list?.add(done.name, size: done.size, digest: lastDigest)
    }

    /// Reads a header, with the pax header before it.
    private func header() throws(CofferError) -> (EntryName, Int64) {
        var header = try TarHeader(block(TarHeader.blockSize))
        var size = header.size
        if header.kind == .pax {
            guard header.size < TarHeader.blockSize else { throw TarHeader.damaged }
            size = try TarHeader.size(inRecord: block(Int(header.size)))
            try expectZeros(TarHeader.padding(after: header.size))
            let own = try TarHeader(block(TarHeader.blockSize))
            guard own.kind == .file, own.size == 0, own.path.hasSameBytes(as: header.path) else {
                throw TarHeader.damaged
            }
            header = own
        }
        guard header.kind == .file, let name = EntryName(path: header.path) else { throw TarHeader.damaged }
        return (name, size)
    }

    /// Compares the list of entries with what was read, and expects the end of the file.
    private func finish(_ size: Int64) throws(CofferError) {
        guard let list = list.take() else { throw TarHeader.damaged }
        let expected = try list.finishDigest()
        guard expected.size == size else { throw Self.differs }
        var content = try DigestContext.make(.sha256)
        let buffer = try AlignedBuffer.make(count: 1 << 16)
        var left = Int(size)
        while left > 0 {
            let count = min(left, buffer.count)
            try buffer.write(0..<count) { (span) throws(CofferError) in try fill(&span) }
            try buffer.read(0..<count) { (span) throws(CofferError) in try content.update(span) }
            left -= count
        }
        guard try content.finished() == expected.digest else { throw Self.differs }
        try expectZeros(TarHeader.padding(after: size) + 2 * TarHeader.blockSize)
        var beyond = [UInt8](repeating: 0, count: 1)
        var more = beyond.mutableSpan
        guard try plaintext(into: &more) == 0 else { throw TarHeader.damaged }
    }

    private static var differs: CofferError {
        CofferError(
            .corrupt, "The backup is incomplete, or its content differs from its own list.",
            remedy: .useAnotherCopy)
    }

    private func block(_ size: Int) throws(CofferError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: size)
        var span = bytes.mutableSpan
        try fill(&span)
        return bytes
    }

    private func expectZeros(_ count: Int) throws(CofferError) {
        guard try block(count).allSatisfy({ $0 == 0 }) else { throw TarHeader.damaged }
    }

    /// Fills the buffer; throws `corrupt` if the archive ends before.
    private func fill(_ buffer: inout MutableSpan<UInt8>) throws(CofferError) {
        let size = buffer.count
        guard try plaintext(into: &buffer) == size else {
            throw CofferError(
                .corrupt, "The backup is incomplete: it ends too early.", remedy: .useAnotherCopy)
        }
    }

    private func plaintext(into buffer: inout MutableSpan<UInt8>) throws(CofferError) -> Int {
        let position = position
        return try age.read(into: &buffer) { (target) throws(CofferError) in
            try Self.read(file, position, into: &target)
        }
    }
}
