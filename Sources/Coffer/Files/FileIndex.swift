import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage
import Synchronization

/// The list of a vault's files, in one file that grows by a frame with each change and is written anew when
/// it has many. See Formats.
///
/// A file is entered before its container appears and struck out after it is gone, so an entry without a
/// container is either being added or removed, or was lost; a container without an entry was put there by
/// somebody else. A tail that was torn by a crash is no part of it.
final class FileIndex: Sendable {
    static let fileName: FilePath = "fileindex"
    static let what = "index of files"
    private static let headSize = 32
    private static let noTag = [UInt8](repeating: 0, count: FileIndexFrame.tagSize)
    /// With more frames than this and a quarter of the files it is written anew.
    fileprivate static let manyFrames = 64

    /// What tells the container of a file from others that had its name.
    struct Entry: Sendable, Equatable {
        let protection: UInt16
        let generation: UInt64
        let commitment: [UInt8]
    }

    /// The index as it was at one moment.
    struct Snapshot: Sendable {
        fileprivate var status: FileStatus
        fileprivate var frames: [FileIndexFrame] = []
        fileprivate var lastTag = FileIndex.noTag
        fileprivate var end = Int64(FileIndex.headSize)
        private(set) var entries: [FileID: Entry] = [:]
        var frameCount: Int { frames.count }
        fileprivate var isLong: Bool { frames.count > FileIndex.manyFrames + entries.count / 4 }

        fileprivate mutating func append(_ frame: FileIndexFrame, tag: [UInt8]) throws(CofferError) {
            for entry in try frame.entries() {
                entries[entry.id] =
                    frame.kind == .removals
                    ? nil
                    : Entry(
                        protection: frame.protection, generation: entry.generation,
                        commitment: entry.commitment)
            }
            frames.append(frame)
            lastTag = tag
            end += Int64(frame.body.count + tag.count)
        }

        fileprivate init(status: FileStatus) { self.status = status }
    }

    private let device: DeviceRecord
    private let known = Mutex<Snapshot?>(nil)

    init(device: DeviceRecord) { self.device = device }

    private static var damaged: CofferError {
        CofferError(
            .corrupt, "The \(what) is damaged: coffer file reindex makes it anew from the containers.")
    }

    private func key() throws(CofferError) -> SymmetricKey { try device.key(Label.fileIndexMAC) }

    private var head: [UInt8] {
        var writer = ByteWriter()
        writer.append(Array(Magic.fileIndex.utf8))
        writer.append(UInt16(1))
        writer.pad(to: 16)
        writer.append(device.vaultID.bytes)
        return writer.bytes
    }

    // MARK: Reading

    /// The index as it is now. Without the home's lock, what others are just writing may be missing.
    func snapshot(in vault: borrowing Descriptor) throws(CofferError) -> Snapshot {
        let file: Descriptor
        do throws(CofferError) {
            file = try vault.open(Self.fileName, .read)
        } catch {
            throw error.code == .absent ? Self.damaged : error
        }
        let status = try file.status()
        if let known = known.withLock({ $0 }), known.status == status { return known }
        let bytes = try file.readAll(limit: 1 << 30)
        let snapshot = try parse(bytes, status)
        known.withLock { $0 = snapshot }
        return snapshot
    }

    private func parse(_ bytes: [UInt8], _ status: FileStatus) throws(CofferError) -> Snapshot {
        let key = try key()
        var reader = ByteReader(bytes, what: Self.what)
        guard bytes.count >= Self.headSize, try reader.take(8) == Array(Magic.fileIndex.utf8) else {
            throw Self.damaged
        }
        guard try reader.number(UInt16.self) == 1 else {
            throw CofferError(.unsupportedVersion, "The \(Self.what) was written by a newer release.")
        }
        guard Array(bytes[..<Self.headSize]) == head else { throw Self.damaged }
        var snapshot = Snapshot(status: status)
        while snapshot.end < Int64(bytes.count) {
            let offset = Int(snapshot.end)
            let read = try FileIndexFrame.read(bytes.span, at: offset, after: snapshot.lastTag, key: key)
            guard let read else {
                guard Self.isTorn(bytes, at: offset) else { throw Self.damaged }
                return snapshot
            }
            try snapshot.append(read.frame, tag: read.tag)
        }
        return snapshot
    }

    /// Whether what is no frame is the rest of one that a crash cut: it reaches to the end or holds nothing.
    private static func isTorn(_ bytes: [UInt8], at offset: Int) -> Bool {
        let rest = bytes[offset...]
        guard rest.count >= FileIndexFrame.headSize, rest.contains(where: { $0 != 0 }) else { return true }
        let size = Int(bytes.span.bigEndian(UInt32.self, at: offset))
        return size >= rest.count && size <= FileIndexFrame.longest
    }

    /// The records of the files in `ids`. Every class among them has to be open.
    func records(
        of ids: Set<FileID>, in vault: borrowing Descriptor,
        classKey: (ProtectionClass) throws(CofferError) -> ClassKey
    ) throws(CofferError) -> [(record: FileIndexRecord, protection: ProtectionClass)] {
        let snapshot = try snapshot(in: vault)
        var found: [FileID: (record: FileIndexRecord, protection: ProtectionClass)] = [:]
        for frame in snapshot.frames where frame.kind == .records {
            guard
                try frame.entries().contains(where: { ids.contains($0.id) && snapshot.entries[$0.id] != nil })
            else { continue }
            guard let protection = ProtectionClass(rawValue: frame.protection) else {
                throw CofferError(
                    .unsupportedVersion, "The \(Self.what) names a protection class of a newer release.")
            }
            let records = try frame.open(classKey: classKey(protection), vaultID: device.vaultID)
            for record in records where ids.contains(record.id) {
                // The last entry of a file is the one that counts.
                guard let entry = snapshot.entries[record.id], entry.commitment == record.commitment else {
                    continue
                }
                found[record.id] = (record, protection)
            }
        }
        return Array(found.values)
    }

    // MARK: Writing, under the home's lock

    /// An index without files.
    static func create(device: DeviceRecord, in vault: borrowing Descriptor) throws(CofferError) {
        let head = FileIndex(device: device).head
        let file = try vault.open(fileName, [.readWrite, .exclusive])
        try file.write(head.span, at: 0)
        try file.sync()
    }

    /// Enters a file.
    func add(
        _ record: FileIndexRecord, _ protection: ProtectionClass, in vault: borrowing Descriptor,
        classKey: (ProtectionClass) throws(CofferError) -> ClassKey
    ) throws(CofferError) {
        let frame = try FileIndexFrame.records(
            [record], protection, classKey: classKey(protection), vaultID: device.vaultID)
        try append(frame, in: vault)
        // The snapshot is asked for again: holding it while a frame is appended would copy it.
        guard try snapshot(in: vault).isLong else { return }
        do throws(CofferError) {
            try compact(in: vault, classKey: classKey)
        } catch {
            // It stays long until every class is open and there is room for another.
        }
    }

    /// Strikes a file out; nothing when it is not entered.
    func strike(_ id: FileID, in vault: borrowing Descriptor) throws(CofferError) {
        guard try snapshot(in: vault).entries[id] != nil else { return }
        try append(.removals([id]), in: vault)
    }

    private func append(_ frame: FileIndexFrame, in vault: borrowing Descriptor) throws(CofferError) {
        let (lastTag, end) = try tail(in: vault)
        let tag = try frame.tag(after: lastTag, key: key())
        let bytes = frame.body + tag
        let file = try vault.open(Self.fileName, .readWrite)
        let former = try file.status()
        if former.size != end { try file.truncate(to: end) }
        do throws(CofferError) {
            try file.write(bytes.span, at: end)
            try file.syncData()
        } catch {
            try? file.truncate(to: end)
            throw error
        }
        let status = try file.status()
        // In place: a copy of what is known would cost as much as there are files.
        try known.withLock { (known) throws(CofferError) in
            guard known?.status == former else { return known = nil }
            try known?.append(frame, tag: tag)
            known?.status = status
        }
    }

    /// Where the next frame goes, and what it hangs on.
    private func tail(in vault: borrowing Descriptor) throws(CofferError) -> (tag: [UInt8], end: Int64) {
        let snapshot = try snapshot(in: vault)
        return (snapshot.lastTag, snapshot.end)
    }

    /// Writes the index anew with `files` alone.
    func replace(
        with files: [(record: FileIndexRecord, protection: ProtectionClass)], in vault: borrowing Descriptor,
        classKey: (ProtectionClass) throws(CofferError) -> ClassKey
    ) throws(CofferError) {
        let key = try key()
        var bytes = head
        var tag = Self.noTag
        for protection in ProtectionClass.allCases {
            let own = files.filter { $0.protection == protection }.map(\.record)
            for start in stride(from: 0, to: own.count, by: FileIndexFrame.capacity) {
                let part = Array(own[start..<min(start + FileIndexFrame.capacity, own.count)])
                let frame = try FileIndexFrame.records(
                    part, protection, classKey: classKey(protection), vaultID: device.vaultID)
                tag = try frame.tag(after: tag, key: key)
                bytes += frame.body + tag
            }
        }
        try vault.removeTemporaries()
        try vault.replace(Self.fileName, with: bytes.span)
    }

    private func compact(
        in vault: borrowing Descriptor, classKey: (ProtectionClass) throws(CofferError) -> ClassKey
    ) throws(CofferError) {
        let all = try records(of: Set(snapshot(in: vault).entries.keys), in: vault, classKey: classKey)
        try replace(with: all, in: vault, classKey: classKey)
    }
}
