import CofferBase
import CofferCrypto
import CofferEngine

/// The writer of a backup: an age file with a tar archive inside, written from start to end.
///
/// Plaintext passes only through memory. Not safe for concurrent use.
final class ArchiveWriter {
    /// For whom the backup is encrypted.
    enum Key {
        case recipients([AgeRecipient])
        case passphrase(Passphrase, workFactor: Int)
    }

    /// A passphrase that can be passed on.
    final class Passphrase: Sendable {
        let secret: SecretBytes

        init(_ secret: consuming SecretBytes) { self.secret = secret }
    }

    private let file: Descriptor
    /// Gives every call for the file a deadline; `nil` for none.
    private let watch: CallWatch?
    /// `nil` after the end.
    private var age: AgeWriter?
    private var list: EntryList?
    private var last: EntryName?
    private let created: Int64
    private var entry: (name: EntryName, size: Int64, written: Int64)?
    private var digest: DigestContext?

    private init(
        _ file: consuming Descriptor, _ watch: CallWatch?, _ age: consuming AgeWriter,
        _ list: consuming EntryList, created: Int64
    ) {
        self.file = file
        self.watch = watch
        self.age = consume age
        self.list = consume list
        self.created = created
    }

    /// Starts a backup in an empty file.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - key: For whom the backup is encrypted.
    ///   - created: The time that entries without one of their own have, in seconds since 1970.
    ///   - watch: Gives every call for the file a deadline; `nil` for none.
    /// - Returns: The writer.
    /// - Throws: The errors of `AgeWriter`, and those of writing to the file.
    static func start(
        in file: borrowing Descriptor, for key: Key, created: Int64, _ watch: CallWatch? = nil
    ) throws(CofferError) -> ArchiveWriter {
        let file = try file.duplicate()
        let age: AgeWriter
        switch key {
        case .recipients(let recipients):
            age = try AgeWriter.start(to: recipients) { (bytes) throws(CofferError) in
                try append(bytes, to: file, watch)
            }
        case .passphrase(let passphrase, let workFactor):
            age = try AgeWriter.start(passphrase: passphrase.secret, workFactor: workFactor) {
                (bytes) throws(CofferError) in try append(bytes, to: file, watch)
            }
        }
        return ArchiveWriter(file, watch, age, try EntryList.make(keepingText: true), created: created)
    }

    private static func append(
        _ bytes: Span<UInt8>, to file: borrowing Descriptor, _ watch: CallWatch?
    ) throws(CofferError) {
        let outer = try watch?.begin()
        defer { if let outer { watch?.end(outer) } }
        try file.append(bytes)
    }

    /// Begins an entry, whose content follows with ``write(_:)``.
    func begin(_ name: EntryName, size: Int64, modified: Int64? = nil) throws(CofferError) {
        guard entry == nil, last.map({ $0.precedes(name) }) ?? true, (0...name.sizeLimit).contains(size),
            (list?.count ?? 0) < EntryName.countLimit
        else {
            throw CofferError(
                .refused, "The vault has more or larger items than a backup can contain: \(name.path).")
        }
        let modified = modified ?? created
        var size = size
        entry = (name, size, 0)
        digest = try DigestContext.make(.sha256)
        if size > TarHeader.maxPlainSize {
            let record = TarHeader.sizeRecord(size)
            let header = TarHeader(
                name.path, kind: .pax, size: Int64(record.count), modified: modified)
            try emit(header.encoded)
            try emit(record + [UInt8](repeating: 0, count: TarHeader.padding(after: Int64(record.count))))
            size = 0
        }
        try emit(TarHeader(name.path, size: size, modified: modified).encoded)
    }

    /// Writes the next bytes of the entry's content.
    func write(_ bytes: Span<UInt8>) throws(CofferError) {
        guard let open = entry, open.written + Int64(bytes.count) <= open.size else { throw Self.misused }
        entry?.written += Int64(bytes.count)
        try digest?.update(bytes)
        try emit(bytes)
    }

    /// Ends the entry, whose content must be complete.
    func end() throws(CofferError) {
        guard let done = entry, done.written == done.size, let digest = digest.take() else {
            throw Self.misused
        }
        try emit([UInt8](repeating: 0, count: TarHeader.padding(after: done.size)))
        let hash = try digest.finished()
        entry = nil
        last = done.name
        try list?.add(done.name, size: done.size, digest: hash)
    }

    /// Writes an entry whose content is in memory.
    func add(_ name: EntryName, _ content: Span<UInt8>) throws(CofferError) {
        try begin(name, size: Int64(content.count))
        try write(content)
        try end()
    }

    /// Writes the list of entries and the end of the archive and of the age file. Nothing can be written
    /// after that.
    func finish() throws(CofferError) {
        guard entry == nil, let list = list.take() else { throw Self.misused }
        let text = try list.finish()
        try emit(
            TarHeader(EntryName.complete.path, size: Int64(text.count), modified: created).encoded)
        try emit(text)
        let end = TarHeader.padding(after: Int64(text.count)) + 2 * TarHeader.blockSize
        try emit([UInt8](repeating: 0, count: end))
        guard let age = age.take() else { throw Self.misused }
        try age.finish { (bytes) throws(CofferError) in try Self.append(bytes, to: file, watch) }
    }

    private func emit(_ bytes: [UInt8]) throws(CofferError) { try emit(bytes.span) }

    private func emit(_ bytes: Span<UInt8>) throws(CofferError) {
        guard age != nil else { throw Self.misused }
        try age?.write(bytes) { (sealed) throws(CofferError) in
            try Self.append(sealed, to: file, watch)
        }
    }

    private static var misused: CofferError {
        CofferError(.internalFailure, "A backup's entry was not written as it was announced.")
    }
}
