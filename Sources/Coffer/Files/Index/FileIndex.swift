import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import Synchronization
import SystemPackage

/// The list of a vault's files, stored in one file. Each change appends a frame, and a file with many frames
/// is rewritten. Formats describes the file.
///
/// A file is added to the index before its container appears and removed from the index after the container
/// has lost its final name. If an entry has no container, the file is being added or removed, or its
/// container was lost. If a container has no entry, another program put it there. An incomplete frame that a
/// crash left at the end is not part of the index. A ``FileIndexCommit`` authenticates the length up to which
/// the index was complete, so damage to the last frame is not mistaken for an incomplete frame.
final class FileIndex: Sendable {
    static let fileName: FilePath = "fileindex"
    static let displayName = "file index"
    /// The index is rewritten when it has more frames than this number plus a quarter of the number of files.
    private static let manyFrames = 64
    /// The maximum number of attempts to read an index that other processes are writing.
    private static let maxReadCount = 100

    /// The fields that distinguish a file's container from other containers that have had the same name.
    struct Entry: Sendable, Equatable {
        /// The class, with the mark of a session-only file.
        let protection: UInt16
        let generation: UInt64
        let commitment: [UInt8]

        var protectionClass: ProtectionClass? { FileIndexFrame.protectionClass(protection) }
    }

    private let device: DeviceKey
    /// Whether this process has made sure that the file keyset record states that the index's commits are
    /// bound to their places.
    private let isNoted = Atomic(false)
    private let known = Mutex<(status: FileStatus, contents: FileIndexContents)?>(nil)

    init(device: DeviceKey) { self.device = device }

    static var corruptError: CofferError {
        CofferError(.corrupt, "The \(displayName) is damaged.", remedy: .reindexFiles)
    }

    /// Returns the error for existing containers that an undamaged index does not list.
    static func behind(_ ids: [FileID]) -> CofferError {
        CofferError(
            .corrupt,
            "The \(displayName) does not list every container. The index is damaged or outdated, or another "
                + "program added containers.",
            remedy: .verifyAndReindexFiles, entries: ids.map(\.description))
    }

    // MARK: Reading

    /// Returns the current index. Without the vault directory's lock, changes that other processes are
    /// writing may be missing.
    ///
    /// - Throws: `corrupt` if any part of the index is damaged.
    func snapshot(in vault: borrowing Descriptor) throws(CofferError) -> FileIndexContents {
        let contents = try salvage(in: vault)
        guard !contents.isDamaged else { throw Self.corruptError }
        return contents
    }

    /// Returns the current index as ``snapshot(in:)`` does, or the remaining contents of a damaged index.
    func salvage(in vault: borrowing Descriptor) throws(CofferError) -> FileIndexContents {
        let contents = try load(in: vault)
        guard contents.version < FileIndexContents.newestVersion, !contents.isDamaged,
            try FileKeysetRecord(device: device).read(in: vault).keys.hasIndexCommits
        else { return contents }
        // Another process may have written a newer version since.
        var again = try load(in: vault)
        if again.version < FileIndexContents.newestVersion { again.missCommits() }
        return again
    }

    /// Throws `unsupportedVersion` if a newer release wrote the index. Ignores every kind of damage.
    func requireKnownVersion(in vault: borrowing Descriptor) throws(CofferError) {
        do throws(CofferError) {
            _ = try load(in: vault)
        } catch {
            if error.code == .unsupportedVersion { throw error }
        }
    }

    /// Reads the contents from the index file alone, without consulting the file keyset record.
    private func load(in vault: borrowing Descriptor) throws(CofferError) -> FileIndexContents {
        let file: Descriptor
        do throws(CofferError) {
            file = try vault.open(Self.fileName, .read)
        } catch {
            guard error.code == .absent else { throw error }
            return .lost
        }
        var status = try file.status()
        if let known = known.withLock({ $0 }), known.status == status { return known.contents }
        for _ in 0..<Self.maxReadCount {
            let contents = try FileIndexContents(file.readAll(limit: 1 << 30), device: device)
            let now = try file.status()
            // A frame that another process is appending is not damage.
            guard now == status || !contents.isDamaged else {
                status = now
                continue
            }
            if now == status { known.withLock { $0 = (status, contents) } }
            return contents
        }
        throw CofferError(.busy, "The \(Self.displayName) keeps changing. Try again later.")
    }

    /// Returns the records for the files in `ids`. The classes of all these files must be unlocked.
    func records(
        of ids: Set<FileID>, in snapshot: FileIndexContents,
        classKey: (ProtectionClass) throws(CofferError) -> ClassKey
    ) throws(CofferError) -> [(record: FileIndexRecord, protection: ProtectionClass)] {
        var found: [FileID: (record: FileIndexRecord, protection: ProtectionClass)] = [:]
        for frame in snapshot.frames where frame.kind == .records {
            guard
                try frame.entries().contains(where: { ids.contains($0.id) && snapshot.entries[$0.id] != nil })
            else { continue }
            guard let protection = FileIndexFrame.protectionClass(frame.protection) else {
                throw CofferError(
                    .unsupportedVersion,
                    "The \(Self.displayName) contains a protection class that is not supported by this "
                        + "release. Use a newer release.")
            }
            let records = try frame.open(classKey: classKey(protection), vaultID: device.vaultID)
            for record in records where ids.contains(record.id) {
                // Only the last entry of a file is valid.
                guard let entry = snapshot.entries[record.id], entry.commitment == record.commitment else {
                    continue
                }
                found[record.id] = (record, protection)
            }
        }
        return Array(found.values)
    }

    // MARK: Writing, under the vault directory's lock

    /// Creates an index that lists no files.
    static func create(device: DeviceKey, in vault: borrowing Descriptor) throws(CofferError) {
        let bytes = try FileIndexContents.file(
            frames: [], lastTag: FileIndexContents.noTag, device: device)
        let file = try vault.open(fileName, [.readWrite, .exclusive])
        try file.write(bytes.span, at: 0)
        try file.sync()
    }

    /// Adds a file to the index.
    func add(
        _ record: FileIndexRecord, _ protection: ProtectionClass, in vault: borrowing Descriptor,
        classKey: (ProtectionClass) throws(CofferError) -> ClassKey
    ) throws(CofferError) {
        let frame = try FileIndexFrame.records(
            [record], protection, classKey: classKey(protection), vaultID: device.vaultID)
        try append(frame, in: vault)
        // Read the snapshot only now: holding it while a frame is appended would copy it.
        guard try isLong(snapshot(in: vault)) else { return }
        do throws(CofferError) {
            try compact(in: vault, classKey: classKey)
        } catch {
            // The index stays long until every class is unlocked and there is space for a second index.
        }
    }

    private func isLong(_ contents: FileIndexContents) -> Bool {
        contents.frames.count > Self.manyFrames + contents.entries.count / 4
    }

    /// Removes a file from the index, if it is listed. A damaged index is left unchanged, because the index
    /// that is later rebuilt from the containers will not contain the file.
    func remove(_ id: FileID, in vault: borrowing Descriptor) throws(CofferError) {
        let contents = try salvage(in: vault)
        guard !contents.isDamaged, contents.entries[id] != nil else { return }
        try append(.tombstones([id]), in: vault)
    }

    /// Removes from the index the files that `isGone` selects.
    func remove(
        in vault: borrowing Descriptor, where isGone: (FileID, Entry) -> Bool
    ) throws(CofferError) {
        let contents = try salvage(in: vault)
        guard !contents.isDamaged else { return }
        let ids = contents.entries.filter { isGone($0.key, $0.value) }.map(\.key).sorted()
        for start in stride(from: 0, to: ids.count, by: FileIndexFrame.capacity) {
            let part = Array(ids[start..<min(start + FileIndexFrame.capacity, ids.count)])
            try append(.tombstones(part), in: vault)
        }
    }

    private func append(_ frame: FileIndexFrame, in vault: borrowing Descriptor) throws(CofferError) {
        let tail = try tail(in: vault)
        let tag = try frame.tag(after: tail.tag, key: device.key(KDFLabel.fileIndexMAC))
        let bytes = frame.body + tag
        let end = tail.end + Int64(bytes.count)
        guard tail.version == FileIndexContents.newestVersion else {
            try convert(adding: bytes, tag, in: vault)
            return try noteCommits(in: vault)
        }
        try noteCommits(in: vault)
        let commit = try FileIndexCommit(end: end, lastTag: tag).encoded(
            head: FileIndexContents.head(tail.version, device), place: tail.place,
            key: device.key(KDFLabel.fileIndexCommit))
        let file = try vault.open(Self.fileName, .readWrite)
        let former = try file.status()
        if former.size != tail.end { try file.truncate(to: tail.end) }
        do throws(CofferError) {
            try file.write(bytes.span, at: tail.end)
            try file.syncData()
            // Not flushed: a power failure may undo this write, and then the frame counts as uncommitted.
            try file.write(commit.span, at: Int64(FileIndexCommit.offsets[tail.place]))
        } catch {
            try? file.truncate(to: tail.end)
            throw error
        }
        let status = try file.status()
        // Update in place, because copying the known contents would cost time in proportion to the number of
        // files.
        try known.withLock { (known) throws(CofferError) in
            guard known?.status == former else { return known = nil }
            try known?.contents.append(frame, tag: tag)
            known?.contents.didCommit()
            known?.status = status
        }
    }

    /// Records that the index's commits are bound to their places, in case a vault from an earlier release
    /// does not record this yet.
    private func noteCommits(in vault: borrowing Descriptor) throws(CofferError) {
        guard !isNoted.load(ordering: .relaxed) else { return }
        try FileKeysetRecord(device: device).noteIndexCommits(in: vault)
        isNoted.store(true, ordering: .relaxed)
    }

    /// Returns the last frame's tag, the index's end and version, and the place for the next commit.
    private func tail(
        in vault: borrowing Descriptor
    ) throws(CofferError) -> (tag: [UInt8], end: Int64, version: UInt16, place: Int) {
        let snapshot = try snapshot(in: vault)
        return (snapshot.lastTag, snapshot.end, snapshot.version, snapshot.place)
    }

    /// Converts an index from an older format version to the newest one and adds one frame. Existing frames
    /// are unchanged.
    private func convert(
        adding frame: [UInt8], _ tag: [UInt8], in vault: borrowing Descriptor
    ) throws(CofferError) {
        let former = try snapshot(in: vault)
        let old = try vault.open(Self.fileName, .read).readAll(limit: 1 << 30)
        let start = former.version == 1 ? FileIndexContents.headSize : FileIndexContents.framesStart
        let frames = Array(old[start..<Int(former.end)]) + frame
        try install(frames, lastTag: tag, in: vault)
    }

    private func install(
        _ frames: [UInt8], lastTag: [UInt8], in vault: borrowing Descriptor
    ) throws(CofferError) {
        let bytes = try FileIndexContents.file(frames: frames, lastTag: lastTag, device: device)
        try vault.removeTemporaries()
        try vault.replace(Self.fileName, with: bytes.span)
    }

    /// Replaces the index with one that lists only `files`.
    func replace(
        with files: [(record: FileIndexRecord, protection: ProtectionClass)], in vault: borrowing Descriptor,
        classKey: (ProtectionClass) throws(CofferError) -> ClassKey
    ) throws(CofferError) {
        let (frames, tag) = try frames(listing: files, classKey: classKey)
        try install(frames, lastTag: tag, in: vault)
    }

    /// Returns the content of an index that lists only `files`.
    func content(
        listing files: [(record: FileIndexRecord, protection: ProtectionClass)],
        classKey: (ProtectionClass) throws(CofferError) -> ClassKey
    ) throws(CofferError) -> [UInt8] {
        let (frames, tag) = try frames(listing: files, classKey: classKey)
        return try FileIndexContents.file(frames: frames, lastTag: tag, device: device)
    }

    private func frames(
        listing files: [(record: FileIndexRecord, protection: ProtectionClass)],
        classKey: (ProtectionClass) throws(CofferError) -> ClassKey
    ) throws(CofferError) -> (bytes: [UInt8], lastTag: [UInt8]) {
        let key = try device.key(KDFLabel.fileIndexMAC)
        var bytes: [UInt8] = []
        var tag = FileIndexContents.noTag
        let kinds = ProtectionClass.allCases.flatMap { [($0, false), ($0, true)] }
        for (protection, isVolatile) in kinds {
            let own = files.filter { $0.protection == protection && $0.record.isVolatile == isVolatile }
                .map(\.record)
            for start in stride(from: 0, to: own.count, by: FileIndexFrame.capacity) {
                let part = Array(own[start..<min(start + FileIndexFrame.capacity, own.count)])
                let frame = try FileIndexFrame.records(
                    part, protection, classKey: classKey(protection), vaultID: device.vaultID)
                tag = try frame.tag(after: tag, key: key)
                bytes += frame.body + tag
            }
        }
        return (bytes, tag)
    }

    /// Seals every record again, under the current key of its class.
    func reseal(
        in vault: borrowing Descriptor, classKey: (ProtectionClass) throws(CofferError) -> ClassKey
    ) throws(CofferError) {
        try compact(in: vault, classKey: classKey)
    }

    private func compact(
        in vault: borrowing Descriptor, classKey: (ProtectionClass) throws(CofferError) -> ClassKey
    ) throws(CofferError) {
        let contents = try snapshot(in: vault)
        let all = try records(of: Set(contents.entries.keys), in: contents, classKey: classKey)
        try replace(with: all, in: vault, classKey: classKey)
    }
}
