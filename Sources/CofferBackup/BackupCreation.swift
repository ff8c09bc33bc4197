import Coffer
import CofferBase
import CofferDatabase
import CofferEngine
import SystemPackage

/// The work of writing one backup. Blocks.
struct BackupCreation {
    /// The items of a snapshot, sorted by where they can be restored.
    private struct Plan {
        var tokens: [SealedToken] = []
        var deviceTokens: [SealedToken] = []
        var files: [FileSnapshot] = []
        var deviceFiles: [FileID] = []
        var databases: [(name: DatabaseName, protection: ProtectionClass)] = []
        var deviceDatabases: [DatabaseName] = []
        var reserved = 0
        var omitted: [OmittedItem] = []

        var counts: BackupCounts {
            var counts = BackupCounts()
            (counts.tokens, counts.deviceTokens) = (tokens.count, deviceTokens.count)
            (counts.files, counts.deviceFiles) = (files.count, deviceFiles.count)
            (counts.databases, counts.deviceDatabases) = (databases.count, deviceDatabases.count)
            return counts
        }
    }

    let vault: Vault
    let key: ArchiveWriter.Key
    let cancellation: BlockingExecutor.Cancellation
    let watch: CallWatch
    /// The files that turned out to be damaged while their content was read, as they were listed then.
    private var damaged: [FileID: FileSnapshot] = [:]
    private var hasFoundDamage = false

    init(
        _ vault: Vault, key: ArchiveWriter.Key, cancellation: BlockingExecutor.Cancellation,
        _ watch: CallWatch
    ) {
        self.vault = vault
        self.key = key
        self.cancellation = cancellation
        self.watch = watch
    }

    /// Writes a backup into an empty file.
    ///
    /// - Returns: What the backup contains, and its moment in nanoseconds since 1970.
    /// - Throws: `corrupt` if the content of a file turned out to be damaged. The next call leaves that file
    ///   out, if ``takeFoundDamage()`` returns `true`.
    mutating func write(
        to file: borrowing Descriptor
    ) throws(CofferError) -> (contents: BackupContents, time: Int64) {
        let snapshot = try vault.snapshot()
        var plan = try self.plan(snapshot)
        let manifest = Manifest(
            vaultID: vault.vaultID.description, time: snapshot.time, counts: plan.counts,
            reserved: plan.reserved + snapshot.pending)
        let writer = try ArchiveWriter.start(
            in: file, for: key, created: snapshot.time / 1_000_000_000, watch)
        let start = try manifest.encoded()
        try writer.add(.manifest, start.span)
        var counts = BackupCounts()
        try write(plan.tokens, to: writer)
        counts.tokens = plan.tokens.count
        for file in plan.files {
            counts.files += try write(file, to: writer, &plan.omitted) ? 1 : 0
        }
        for (name, protection) in plan.databases {
            counts.databases += try write(name, protection, to: writer, &plan.omitted) ? 1 : 0
        }
        for token in plan.deviceTokens {
            try writer.add(.deviceToken(token.name), token.envelope.span)
        }
        counts.deviceTokens = plan.deviceTokens.count
        for id in plan.deviceFiles {
            counts.deviceFiles += try writeSealed(id, to: writer, &plan.omitted) ? 1 : 0
        }
        for name in plan.deviceDatabases {
            counts.deviceDatabases += try writeSealed(name, to: writer, &plan.omitted) ? 1 : 0
        }
        if !plan.omitted.isEmpty {
            let document = try OmittedDocument.encode(plan.omitted)
            try writer.add(.omitted, document.span)
        }
        try writer.finish()
        return (BackupContents(manifest, counts, plan.omitted), snapshot.time)
    }

    /// Returns whether the last call found a damaged file, and forgets it.
    mutating func takeFoundDamage() -> Bool {
        defer { hasFoundDamage = false }
        return hasFoundDamage
    }

    private func check() throws(CofferError) {
        guard !cancellation.isCancelled else {
            throw CofferError(.cancelled, "The operation was cancelled before completion.")
        }
    }

    // MARK: Planning

    private func plan(_ snapshot: VaultSnapshot) throws(CofferError) -> Plan {
        var plan = Plan()
        for token in snapshot.tokens.tokens {
            try check()
            guard token.protection.isExportable else {
                // Of a class that is locked, nothing is known; a restore leaves the sessions among them out.
                if (try? vault.tokens.open(token))?.info.isReserved ?? false {
                    plan.reserved += 1
                } else {
                    plan.deviceTokens.append(token)
                }
                continue
            }
            let isReserved = try readable { () throws(CofferError) in
                try vault.tokens.open(token).info.isReserved
            }
            switch isReserved {
            case .none:
                plan.omitted.append(
                    OmittedItem(path: EntryName.deviceToken(token.name).path, reason: .damaged))
            case true?: plan.reserved += 1
            case false?: plan.tokens.append(token)
            }
        }
        for _ in 0..<snapshot.tokens.damaged {
            plan.omitted.append(OmittedItem(path: "tokens", reason: .damaged))
        }
        try addFiles(of: snapshot, to: &plan)
        try addDatabases(of: snapshot, to: &plan)
        plan.omitted += omittedKeyPairs(of: snapshot)
        return plan
    }

    private func addFiles(of snapshot: VaultSnapshot, to plan: inout Plan) throws(CofferError) {
        for file in snapshot.files {
            try check()
            let path = EntryName.fileContent(file.id).path
            if let found = damaged[file.id], found.hasContent(of: file) {
                plan.omitted.append(OmittedItem(path: path, reason: .damaged))
                continue
            }
            let isBound = try readable(file.id, path, &plan.omitted) { () throws(CofferError) in
                try vault.files.isContextBound(file.id)
            }
            guard let isBound else { continue }
            // Without its context, a file can be restored only as it is sealed.
            if file.protection.isExportable, !isBound {
                plan.files.append(file)
            } else {
                plan.deviceFiles.append(file.id)
            }
        }
    }

    private func addDatabases(of snapshot: VaultSnapshot, to plan: inout Plan) throws(CofferError) {
        let databases = DatabaseBackups(vault)
        let names = snapshot.databases.compactMap { DatabaseName($0, suffix: DatabaseKeyNaming.suffix) }
        for name in names.sorted(by: { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }) {
            let keyName = try databases.keyName(name.scope, name.name)
            guard let key = snapshot.tokens.databaseKeys[keyName] else {
                plan.omitted.append(
                    OmittedItem(path: EntryName.databaseContent(name).path, reason: .damaged))
                continue
            }
            if key.protection.isExportable {
                plan.databases.append((name, key.protection))
            } else {
                plan.deviceDatabases.append(name)
            }
        }
    }

    /// Key pairs are named, so that nobody takes the backup for a copy of them.
    private func omittedKeyPairs(of snapshot: VaultSnapshot) -> [OmittedItem] {
        guard let aliases = snapshot.keyPairs else {
            return [OmittedItem(path: "keypairs", reason: .damaged)]
        }
        return aliases.map { OmittedItem(path: "keypairs/\($0)", reason: .notExportable) }
    }

    /// Returns the result of `body`; `nil` if the item that it reads is damaged or gone.
    private func readable<Result: ~Copyable>(
        _ body: () throws(CofferError) -> Result
    ) throws(CofferError) -> Result? {
        do throws(CofferError) {
            return try body()
        } catch {
            switch error.code {
            case .corrupt, .foreign, .unsupportedVersion, .absent, .missing, .notAuthentic: return nil
            default: throw error
            }
        }
    }

    /// Returns the result of `body`, which reads a file; `nil` if the file is damaged or gone, as noted.
    ///
    /// A file that another process removes or replaces looks damaged while its old container is overwritten,
    /// so a file counts as gone if it is listed no longer, and is read once more if it still is.
    private func readable<Result: ~Copyable>(
        _ id: FileID, _ path: String, _ omitted: inout [OmittedItem],
        _ body: () throws(CofferError) -> Result
    ) throws(CofferError) -> Result? {
        if let result = try readable(body) { return result }
        guard try vault.files.isListed(id) else {
            omitted.append(OmittedItem(path: path, reason: .gone))
            return nil
        }
        if let result = try readable(body) { return result }
        omitted.append(OmittedItem(path: path, reason: .damaged))
        return nil
    }

    // MARK: Writing

    private func write(_ tokens: [SealedToken], to writer: ArchiveWriter) throws(CofferError) {
        for (index, sealed) in tokens.enumerated() {
            try check()
            let document = try TokenDocument.encode(vault.tokens.open(sealed))
            try writer.add(.token(index + 1), document.span)
        }
    }

    /// Writes a file. Returns whether it was written. If its content is damaged, throws `corrupt`, and the
    /// archive cannot be used.
    private mutating func write(
        _ file: FileSnapshot, to writer: ArchiveWriter, _ omitted: inout [OmittedItem]
    ) throws(CofferError) -> Bool {
        let path = EntryName.fileContent(file.id).path
        let found = try readable(file.id, path, &omitted) { () throws(CofferError) in
            try vault.files.open(file)
        }
        guard let found else { return false }
        guard let open = found else {
            omitted.append(OmittedItem(path: path, reason: .gone))
            return false
        }
        if open.isNewer { omitted.append(OmittedItem(path: path, reason: .newer)) }
        let description = try FileDocument.encode(open)
        try writer.add(.fileDescription(file.id), description.span)
        let reader = open.reader
        try writer.begin(
            .fileContent(file.id), size: reader.length, modified: open.modified / 1_000_000_000)
        try write(contentOf: reader, of: file, to: writer)
        try writer.end()
        return true
    }

    private mutating func write(
        contentOf reader: StoredFileReader, of file: FileSnapshot, to writer: ArchiveWriter
    ) throws(CofferError) {
        guard reader.length > 0 else { return }
        var part = try Part.make(for: reader)
        var end = try contents(of: part.read(at: 0, with: reader), of: file)
        var offset: Int64 = 0
        if end < reader.length {
            // While a part is hashed, encrypted and written, the next one is read and decrypted.
            var next = try Part.make(for: reader)
            while end < reader.length {
                try check()
                let (current, following, start) = (part, next, end)
                let (_, read) = try Threads.run(
                    { () throws(CofferError) in try current.write(Int(start - offset), to: writer) },
                    beside: { following.read(at: start, with: reader) })
                (offset, end) = (start, try contents(of: read, of: file))
                swap(&part, &next)
            }
        }
        try check()
        try part.write(Int(end - offset), to: writer)
    }

    /// A buffer for a part of a file's content.
    private struct Part: Sendable {
        private let buffer: AlignedBuffer

        static func make(for reader: StoredFileReader) throws(CofferError) -> Part {
            Part(buffer: try AlignedBuffer.make(count: Int(min(reader.length, 1 << 20))))
        }

        /// Writes the first `count` bytes of the part.
        func write(_ count: Int, to writer: ArchiveWriter) throws(CofferError) {
            try buffer.read(0..<count) { (bytes) throws(CofferError) in try writer.write(bytes) }
        }

        /// Reads the part at `offset`. Returns the offset of its end.
        func read(at offset: Int64, with reader: StoredFileReader) -> Result<Int64, CofferError> {
            do throws(CofferError) {
                let count = try buffer.write(0..<buffer.count) { (span) throws(CofferError) in
                    try reader.read(at: offset, into: &span)
                }
                return .success(offset + Int64(count))
            } catch {
                return .failure(error)
            }
        }
    }

    /// Returns what was read of `file`; notes the damage if its content is damaged.
    private mutating func contents(
        of read: Result<Int64, CofferError>, of file: FileSnapshot
    ) throws(CofferError) -> Int64 {
        do throws(CofferError) {
            return try read.get()
        } catch {
            if error.code == .corrupt {
                damaged[file.id] = file
                hasFoundDamage = true
            }
            throw error
        }
    }

    private func write(
        _ name: DatabaseName, _ protection: ProtectionClass, to writer: ArchiveWriter,
        _ omitted: inout [OmittedItem]
    ) throws(CofferError) -> Bool {
        try check()
        let path = EntryName.databaseContent(name).path
        let copied = try copy(path, &omitted) { () throws(CofferError) in
            try DatabaseBackups(vault).snapshot(name.scope, name.name)
        }
        guard let copied else { return false }
        let description = try FileDocument.encode(databaseClass: protection)
        try writer.add(.databaseDescription(name), description.span)
        try writer.begin(.databaseContent(name), size: copied.size)
        try copied.read { (page) throws(CofferError) in
            try check()
            try writer.write(page)
        }
        try writer.end()
        return true
    }

    /// Returns the copy of a database; `nil` if it is empty or damaged, which is noted.
    private func copy<Copy>(
        _ path: String, _ omitted: inout [OmittedItem], _ body: () throws(CofferError) -> Copy
    ) throws(CofferError) -> Copy? {
        do throws(CofferError) {
            return try body()
        } catch {
            switch error.code {
            case .absent where error.systemError == nil: omitted.append(.init(path: path, reason: .empty))
            case .corrupt, .notAuthentic, .foreign, .unsupportedVersion:
                omitted.append(OmittedItem(path: path, reason: .damaged))
            default: throw error
            }
            return nil
        }
    }

    private func writeSealed(
        _ id: FileID, to writer: ArchiveWriter, _ omitted: inout [OmittedItem]
    ) throws(CofferError) -> Bool {
        let container = try readable(id, EntryName.deviceFile(id).path, &omitted) { () throws(CofferError) in
            try vault.files.openSealed(id)
        }
        guard let container else { return false }
        try write(container, size: container.status().size, as: .deviceFile(id), to: writer)
        return true
    }

    private func writeSealed(
        _ name: DatabaseName, to writer: ArchiveWriter, _ omitted: inout [OmittedItem]
    ) throws(CofferError) -> Bool {
        let copied = try copy(EntryName.deviceDatabase(name).path, &omitted) { () throws(CofferError) in
            try DatabaseBackups(vault).sealedCopy(name.scope, name.name)
        }
        guard let copied else { return false }
        let key = copied.key.envelope
        try writer.add(.deviceDatabaseKey(name), key.span)
        try write(copied.file, size: copied.size, as: .deviceDatabase(name), to: writer)
        return true
    }

    /// Writes `size` bytes of a file as they are.
    private func write(
        _ file: borrowing Descriptor, size: Int64, as name: EntryName, to writer: ArchiveWriter
    ) throws(CofferError) {
        try writer.begin(name, size: size)
        let buffer = try AlignedBuffer.make(count: 1 << 20)
        var offset: Int64 = 0
        while offset < size {
            try check()
            let wanted = Int(min(Int64(buffer.count), size - offset))
            let count = try buffer.write(0..<wanted) { (span) throws(CofferError) in
                try file.read(at: offset, into: &span)
            }
            guard count > 0 else {
                throw CofferError(.conflict, "\(file.path) was changed during the backup. Try again.")
            }
            try buffer.read(0..<count) { (bytes) throws(CofferError) in try writer.write(bytes) }
            offset += Int64(count)
        }
        try writer.end()
    }
}
