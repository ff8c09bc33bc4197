import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

/// An index's contents, parsed from its bytes.
struct FileIndexContents: Sendable {
    /// The version that this release writes. In version 2, the index has commits that are not bound to their
    /// places.
    static let newestVersion: UInt16 = 3
    static let headSize = 32
    /// The offset of the first frame. In version 1, which has no commits, the frames directly follow the
    /// head.
    static let framesStart = 1536
    static let noTag = [UInt8](repeating: 0, count: FileIndexFrame.tagSize)

    private(set) var version = Self.newestVersion
    /// The place for the next commit: 0 or 1.
    private(set) var place = 0
    private(set) var frames: [FileIndexFrame] = []
    private(set) var lastTag = Self.noTag
    /// The offset for the next frame.
    private(set) var end = Int64(Self.framesStart)
    private(set) var entries: [FileID: FileIndex.Entry] = [:]
    /// The identifiers of the listed session-only files.
    private(set) var volatile: Set<FileID> = []
    /// The identifiers of files that were removed and not added again, as far as the existing frames show.
    private(set) var removed: Set<FileID> = []
    /// Whether data that was once complete is missing or not authentic. If so, the other properties describe
    /// only the data that remains.
    private(set) var isDamaged = false

    /// The contents that stand for a lost index: empty and marked as damaged.
    static var lost: FileIndexContents {
        var contents = FileIndexContents()
        contents.isDamaged = true
        return contents
    }

    private init() {}

    static func head(_ version: UInt16, _ device: DeviceKey) -> [UInt8] {
        var writer = BinaryWriter()
        writer.append(Array(FileMagic.fileIndex.utf8))
        writer.append(version)
        writer.pad(to: 16)
        writer.append(device.vaultID.bytes)
        return writer.bytes
    }

    // MARK: Reading

    /// Creates the contents from all authentic data in an index's bytes.
    ///
    /// - Throws: `unsupportedVersion` if a newer release wrote the index.
    init(_ bytes: [UInt8], device: DeviceKey) throws(CofferError) {
        let head = Array(bytes.prefix(Self.headSize))
        let key = try device.key(KDFLabel.fileIndexMAC)
        for version in [Self.newestVersion, 2] {
            let own = Self.head(version, device)
            let newest = try FileIndexCommit.newest(
                in: bytes, head: own, key: device.key(KDFLabel.fileIndexCommit))
            guard let newest else { continue }
            self.version = version
            place = 1 - newest.place
            isDamaged = head != own
            try read(bytes, upTo: newest.commit, mayBeTorn: newest.isOtherWhole, key: key)
            // A crash that interrupts a commit leaves the frame that the commit was written for. If neither
            // that frame nor a second commit is authentic, the broken commit may have been the valid one.
            if version > 2, !newest.isOtherWhole, end <= newest.commit.end { isDamaged = true }
            return
        }
        if head == Self.head(1, device) {
            version = 1
            end = Int64(Self.headSize)
            try read(bytes, upTo: nil, key: key)
        } else {
            // These unauthenticated fields only choose between two errors.
            if head.starts(with: FileMagic.fileIndex.utf8), head.count == Self.headSize,
                head.span.bigEndian(UInt16.self, at: 8) > Self.newestVersion
            {
                throw CofferError(
                    .unsupportedVersion,
                    "The \(FileIndex.displayName) was written by a newer release. Use that release.")
            }
            isDamaged = true
            if try FileIndexFrame.read(bytes.span, at: Self.headSize, after: lastTag, key: key) != nil {
                (version, end) = (1, Int64(Self.headSize))
            }
            try read(bytes, upTo: nil, key: key)
        }
    }

    private mutating func read(
        _ bytes: [UInt8], upTo commit: FileIndexCommit?, mayBeTorn: Bool = true,
        key: borrowing SymmetricKey
    ) throws(CofferError) {
        // The tags that the next frame may follow. There is more than one only after a damaged frame.
        var hooks = [Self.noTag]
        var isComplete = commit.map { $0.end == end && $0.lastTag == lastTag } ?? true
        while end < Int64(bytes.count) {
            let offset = Int(end)
            if let (frame, tag) = try Self.frame(bytes, at: offset, after: hooks, key: key) {
                try append(frame, tag: tag)
                hooks = [tag]
                if let commit, commit.end == end { isComplete = commit.lastTag == tag }
                continue
            }
            // A crash that interrupts the writing of a frame leaves both commits intact. If one commit is
            // missing, it may have covered this frame.
            if isComplete, mayBeTorn, Self.isTorn(bytes, at: offset) { break }
            isDamaged = true
            guard let size = FileIndexFrame.size(bytes.span, at: offset) else { break }
            let body = FileIndexFrame.body(bytes.span, at: offset, size: size)
            let tags = [Array(bytes[offset + body.count..<offset + size])]
            hooks =
                try tags
                + hooks.map { (hook) throws(CofferError) in
                    try HMAC.authenticate((hook + body).span, key: key)
                }
            hooks = Array(hooks.prefix(2))
            end += Int64(size)
        }
        if !isComplete { isDamaged = true }
    }

    private static func frame(
        _ bytes: [UInt8], at offset: Int, after hooks: [[UInt8]], key: borrowing SymmetricKey
    ) throws(CofferError) -> (frame: FileIndexFrame, tag: [UInt8])? {
        for hook in hooks {
            if let read = try FileIndexFrame.read(bytes.span, at: offset, after: hook, key: key) {
                return read
            }
        }
        return nil
    }

    /// Returns whether invalid data may be the remains of a frame whose writing a crash interrupted: the data
    /// is all zeros or shorter than a frame's head, or the length that it states reaches the end of the file
    /// or beyond.
    private static func isTorn(_ bytes: [UInt8], at offset: Int) -> Bool {
        let remaining = bytes[offset...]
        guard remaining.count >= FileIndexFrame.headSize, remaining.contains(where: { $0 != 0 }) else {
            return true
        }
        let size = Int(bytes.span.bigEndian(UInt32.self, at: offset))
        return size >= remaining.count && size <= FileIndexFrame.maxByteCount
    }

    // MARK: Changing

    /// Marks the index as damaged because its commits are not bound to their places, so its previous length
    /// is unknown.
    mutating func missCommits() { isDamaged = true }

    /// Adds a frame that was written at ``end``.
    mutating func append(_ frame: FileIndexFrame, tag: [UInt8]) throws(CofferError) {
        for entry in try frame.entries() {
            if frame.kind == .tombstones {
                removed.insert(entry.id)
            } else {
                removed.remove(entry.id)
            }
            if frame.isVolatile { volatile.insert(entry.id) } else { volatile.remove(entry.id) }
            entries[entry.id] =
                frame.kind == .tombstones
                ? nil
                : FileIndex.Entry(
                    protection: frame.protection, generation: entry.generation, commitment: entry.commitment)
        }
        frames.append(frame)
        lastTag = tag
        end += Int64(frame.body.count + tag.count)
    }

    /// Records that the commit was written.
    mutating func didCommit() { place = 1 - place }

    /// Returns the bytes of a complete index file with `frames`, the last of which has the tag `lastTag`.
    static func file(
        frames: [UInt8], lastTag: [UInt8], device: DeviceKey, version: UInt16 = Self.newestVersion
    ) throws(CofferError) -> [UInt8] {
        let head = head(version, device)
        let commit = FileIndexCommit(end: Int64(framesStart + frames.count), lastTag: lastTag)
        var writer = BinaryWriter()
        writer.append(head)
        for (place, offset) in FileIndexCommit.offsets.enumerated() {
            writer.pad(to: offset)
            writer.append(
                try commit.encoded(head: head, place: place, key: device.key(KDFLabel.fileIndexCommit)))
        }
        writer.pad(to: framesStart)
        return writer.bytes + frames
    }
}
