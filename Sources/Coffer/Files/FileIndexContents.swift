import CofferBase
import CofferCrypto
import CofferEngine

/// The contents of an index, read from its bytes.
struct FileIndexContents: Sendable {
    /// The version that is written. Version 2 has commits that are not bound to their places.
    static let newestVersion: UInt16 = 3
    static let headSize = 32
    /// Where the frames begin. Those of version 1, which has no commit, follow the head.
    static let framesStart = 1536
    static let noTag = [UInt8](repeating: 0, count: FileIndexFrame.tagSize)

    private(set) var version = Self.newestVersion
    /// Where the next commit goes: 0 or 1.
    private(set) var place = 0
    private(set) var frames: [FileIndexFrame] = []
    private(set) var lastTag = Self.noTag
    /// Where the next frame goes.
    private(set) var end = Int64(Self.framesStart)
    private(set) var entries: [FileID: FileIndex.Entry] = [:]
    /// The ids that were struck out and not entered again, as far as the frames go back.
    private(set) var removed: Set<FileID> = []
    /// Whether something that was complete once is not authentic: what is here is the rest.
    private(set) var isDamaged = false

    /// Nothing, of an index that is lost.
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

    /// Reads all that is authentic.
    ///
    /// - Throws: `unsupportedVersion`.
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
            // A crash that cuts a commit leaves the frame that it was written for. Without both, the commit
            // that is not whole may be the one that counted.
            if version > 2, !newest.isOtherWhole, end <= newest.commit.end { isDamaged = true }
            return
        }
        if head == Self.head(1, device) {
            version = 1
            end = Int64(Self.headSize)
            try read(bytes, upTo: nil, key: key)
        } else {
            // Unauthenticated fields only choose between two refusals.
            if head.starts(with: FileMagic.fileIndex.utf8), head.count == Self.headSize,
                head.span.bigEndian(UInt16.self, at: 8) > Self.newestVersion
            {
                throw CofferError(
                    .unsupportedVersion, "The \(FileIndex.what) was written by a newer release.")
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
        // The tags that the next frame may follow: more than one only behind a damaged frame.
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
            // A crash leaves both commits whole. Without one of them this may be a frame that it committed.
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

    /// Whether what is no frame is the rest of one that a crash cut: it reaches to the end or holds nothing.
    private static func isTorn(_ bytes: [UInt8], at offset: Int) -> Bool {
        let rest = bytes[offset...]
        guard rest.count >= FileIndexFrame.headSize, rest.contains(where: { $0 != 0 }) else { return true }
        let size = Int(bytes.span.bigEndian(UInt32.self, at: offset))
        return size >= rest.count && size <= FileIndexFrame.maxByteCount
    }

    // MARK: Changing

    /// Takes note that it should have bound commits: without them nobody knows how long it was.
    mutating func missCommits() { isDamaged = true }

    /// Takes in what was written at ``end``.
    mutating func append(_ frame: FileIndexFrame, tag: [UInt8]) throws(CofferError) {
        for entry in try frame.entries() {
            if frame.kind == .tombstones {
                removed.insert(entry.id)
            } else {
                removed.remove(entry.id)
            }
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

    /// Takes note that the commit was written.
    mutating func didCommit() { place = 1 - place }

    /// A whole index of `frames`, the last of which has `lastTag`.
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
