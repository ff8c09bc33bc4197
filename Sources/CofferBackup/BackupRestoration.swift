import Coffer
import CofferBase
import CofferDatabase
import CofferEngine
import SystemPackage

/// The work of restoring one backup that was found complete. Blocks.
struct BackupRestoration {
    /// The limits of what is stored in one step.
    private static let batchCount = 256
    private static let batchSize = 4 << 20

    let vault: Vault
    let rule: ConflictRule
    let isTrial: Bool
    /// Whether the backup comes from this vault.
    let isOwn: Bool
    /// The hashes of the contents of files and databases that the vault has, too.
    let hashes: [EntryName: [UInt8]]
    let cancellation: BlockingExecutor.Cancellation
    private(set) var report = RestoreReport()

    private var tokens: [StoredToken] = []
    private var sealed: [SealedToken] = []
    private var pendingSize = 0
    /// The description that precedes a content.
    private var description: (name: EntryName, bytes: [UInt8])?

    init(
        _ vault: Vault, _ rule: ConflictRule, isTrial: Bool, isOwn: Bool, hashes: [EntryName: [UInt8]],
        _ cancellation: BlockingExecutor.Cancellation
    ) {
        self.vault = vault
        self.rule = rule
        self.isTrial = isTrial
        self.isOwn = isOwn
        self.hashes = hashes
        self.cancellation = cancellation
    }

    /// Restores all items of the backup.
    mutating func run(_ reader: ArchiveReader) throws(CofferError) {
        while let entry = try reader.next() {
            guard !cancellation.isCancelled else {
                throw CofferError(
                    .cancelled,
                    "The operation was cancelled before completion. What was restored until then stays; "
                        + "restore again for the rest.")
            }
            try restore(entry, reader)
        }
        try flush()
    }

    private mutating func restore(
        _ entry: ArchiveReader.Entry, _ reader: ArchiveReader
    ) throws(CofferError) {
        let before = description
        description = nil
        switch entry.name {
        case .manifest, .omitted, .complete: break
        case .fileDescription, .databaseDescription, .deviceDatabaseKey:
            description = (entry.name, try reader.document())
        case .token: try add(reader.contents(), entry.name)
        case .deviceToken(let name): try add(reader, entry.name, name)
        case .fileContent(let id):
            let file = before.flatMap {
                $0.name == .fileDescription(id) ? FileDocument.decode($0.bytes, id: id) : nil
            }
            let outcome = try outcome { () throws(CofferError) in
                guard let file else { return .impossible(.damaged) }
                return try restore(file, reader)
            }
            report.note(entry.name.path, outcome)
        case .databaseContent(let name):
            let protection = before.flatMap {
                $0.name == .databaseDescription(name) ? FileDocument.databaseClass($0.bytes) : nil
            }
            let outcome = try outcome { () throws(CofferError) in
                guard let protection else { return .impossible(.damaged) }
                return try restore(name, protection, reader)
            }
            report.note(entry.name.path, outcome)
        case .deviceFile(let id):
            report.note(
                entry.name.path,
                try outcome { () throws(CofferError) in try restoreSealed(id, reader) })
        case .deviceDatabase(let name):
            let key = before.flatMap { $0.name == .deviceDatabaseKey(name) ? $0.bytes : nil }
            report.note(
                entry.name.path,
                try outcome { () throws(CofferError) in try restoreSealed(name, key, reader) })
        }
    }

    /// Returns the outcome of `body`, whose errors that concern one item are outcomes, too.
    private func outcome(
        _ body: () throws(CofferError) -> RestoreOutcome
    ) throws(CofferError) -> RestoreOutcome {
        do throws(CofferError) {
            return try body()
        } catch {
            switch error.code {
            // Another process created or changed the item meanwhile, or it is in use or unreadable.
            case .alreadyExists, .conflict, .busy: return .kept
            case .refused where error.remedy == .setPasscodeAndUnlock: return .impossible(.needsPasscode)
            default: throw error
            }
        }
    }

    // MARK: Tokens

    private mutating func add(
        _ document: consuming GuardedBytes, _ name: EntryName
    ) throws(CofferError) {
        let span = document.span
        guard let token = try TokenDocument.decode(span) else {
            return report.note(name.path, .impossible(.damaged))
        }
        tokens.append(token)
        try note(size: token.token.count)
    }

    private mutating func add(
        _ reader: ArchiveReader, _ entry: EntryName, _ name: [UInt8]
    ) throws(CofferError) {
        let envelope = try reader.document()
        guard isOwn else { return report.note(entry.path, .impossible(.otherDevice)) }
        guard let token = SealedToken(name: name, envelope: envelope) else {
            return report.note(entry.path, .impossible(.damaged))
        }
        sealed.append(token)
        try note(size: envelope.count)
    }

    private mutating func note(size: Int) throws(CofferError) {
        pendingSize += size
        guard tokens.count + sealed.count >= Self.batchCount || pendingSize >= Self.batchSize else { return }
        try flush()
    }

    /// Stores the tokens that were read.
    private mutating func flush() throws(CofferError) {
        if !tokens.isEmpty {
            let outcomes = try vault.tokens.restore(tokens, rule, isTrial: isTrial)
            for (token, outcome) in zip(tokens, outcomes) {
                report.note(token.info.id.label, outcome)
            }
        }
        if !sealed.isEmpty {
            let outcomes = try vault.tokens.restore(sealed, rule, isTrial: isTrial)
            for (token, outcome) in zip(sealed, outcomes) {
                report.note(EntryName.deviceToken(token.name).path, outcome)
            }
        }
        (tokens, sealed, pendingSize) = ([], [], 0)
    }

    // MARK: Files

    private func restore(
        _ file: RestoredFile, _ reader: ArchiveReader
    ) throws(CofferError) -> RestoreOutcome {
        let isKnown = try vault.files.isKnown(file.id)
        if isKnown {
            if try isEqual(file) { return .equal }
            guard rule != .keep else { return .kept }
        }
        guard !isTrial else { return isKnown && rule == .replace ? .replaced : .added }
        let content: FileStore.Content = { (span) throws(CofferError) in try reader.read(into: &span) }
        guard isKnown, rule == .replace else {
            try vault.files.restore(file, isCopy: isKnown, content)
            return .added
        }
        try vault.files.replace(file, content)
        return .replaced
    }

    /// Returns whether the vault's file has the same name, date and content.
    private func isEqual(_ file: RestoredFile) throws(CofferError) -> Bool {
        do throws(CofferError) {
            guard let stored = try vault.files.stored(file.id), stored.modified == file.modified,
                FileNameBytes.of(stored.info.name) == FileNameBytes.of(file.name),
                let hash = hashes[.fileContent(file.id)]
            else { return false }
            var digest = try DigestContext.make(.sha256)
            let buffer = try AlignedBuffer.make(count: 1 << 20)
            var offset: Int64 = 0
            while offset < stored.reader.length {
                let count = try buffer.write(0..<buffer.count) { (span) throws(CofferError) in
                    try stored.reader.read(at: offset, into: &span)
                }
                try buffer.read(0..<count) { (bytes) throws(CofferError) in try digest.update(bytes) }
                offset += Int64(count)
            }
            return try digest.finished() == hash
        } catch {
            guard error.code == .corrupt || error.code == .missing || error.code == .absent else {
                throw error
            }
            return false
        }
    }

    private func restoreSealed(_ id: FileID, _ reader: ArchiveReader) throws(CofferError) -> RestoreOutcome {
        guard isOwn else { return .impossible(.otherDevice) }
        // A container's header changes with its keys, so one that differs may still have the same content.
        guard try !vault.files.isKnown(id) else { return try isSealedEqual(id) ? .equal : .kept }
        guard !isTrial else { return .added }
        let isRestored = try vault.files.restoreSealed(id) { (span) throws(CofferError) in
            try reader.read(into: &span)
        }
        return isRestored ? .added : .impossible(.otherDevice)
    }

    /// Returns whether the vault has the container byte by byte.
    private func isSealedEqual(_ id: FileID) throws(CofferError) -> Bool {
        guard let container = try? vault.files.openSealed(id), let hash = hashes[.deviceFile(id)] else {
            return false
        }
        var digest = try DigestContext.make(.sha256)
        let buffer = try AlignedBuffer.make(count: 1 << 20)
        var offset: Int64 = 0
        while true {
            let count = try buffer.write(0..<buffer.count) { (span) throws(CofferError) in
                try container.read(at: offset, into: &span)
            }
            guard count > 0 else { return try digest.finished() == hash }
            try buffer.read(0..<count) { (bytes) throws(CofferError) in try digest.update(bytes) }
            offset += Int64(count)
        }
    }

    // MARK: Databases

    private func restore(
        _ name: DatabaseName, _ protection: ProtectionClass, _ reader: ArchiveReader
    ) throws(CofferError) -> RestoreOutcome {
        let databases = DatabaseBackups(vault)
        var name = name
        let isThere = try databases.contains(name.scope, name.name)
        if isThere {
            if try isEqual(name, databases) { return .equal }
            guard rule != .keep else { return .kept }
            if rule == .both {
                guard let other = DatabaseName(scope: name.scope, name: name.name + "-restored"),
                    try !databases.contains(other.scope, other.name)
                else { return .kept }
                name = other
            }
        }
        let replaces = isThere && rule == .replace
        guard !isTrial else { return replaces ? .replaced : .added }
        let isRestored = try databases.restore(
            name.scope, name.name, class: protection, replacing: replaces
        ) { (span) throws(CofferError) in try reader.read(into: &span) }
        guard isRestored else { return .impossible(.damaged) }
        return replaces ? .replaced : .added
    }

    /// Returns whether the vault's database has the same content.
    private func isEqual(
        _ name: DatabaseName, _ databases: DatabaseBackups
    ) throws(CofferError) -> Bool {
        do throws(CofferError) {
            let snapshot = try databases.snapshot(name.scope, name.name)
            let digest = Digesting(try DigestContext.make(.sha256))
            try snapshot.read { (page) throws(CofferError) in try digest.context?.update(page) }
            return try digest.finished() == hashes[.databaseContent(name)]
        } catch {
            switch error.code {
            case .corrupt, .absent, .notAuthentic, .foreign: return false
            default: throw error
            }
        }
    }

    private func restoreSealed(
        _ name: DatabaseName, _ key: [UInt8]?, _ reader: ArchiveReader
    ) throws(CofferError) -> RestoreOutcome {
        guard isOwn else { return .impossible(.otherDevice) }
        let databases = DatabaseBackups(vault)
        let keyName = try databases.keyName(name.scope, name.name)
        guard let key, let sealedKey = SealedToken(name: keyName, envelope: key) else {
            return .impossible(.damaged)
        }
        guard try !databases.contains(name.scope, name.name) else { return .kept }
        guard !isTrial else { return .added }
        let isRestored = try databases.restoreSealed(name.scope, name.name, sealedKey: sealedKey) {
            (span) throws(CofferError) in try reader.read(into: &span)
        }
        return isRestored ? .added : .impossible(.otherDevice)
    }
}

/// A hash that a closure continues.
private final class Digesting {
    var context: DigestContext?

    init(_ context: consuming DigestContext) { self.context = consume context }

    func finished() throws(CofferError) -> [UInt8] {
        guard let context = context.take() else { return [] }
        return try context.finished()
    }
}

extension TokenID {
    /// The name for people.
    fileprivate var label: String { "\(service) \(account) (\(kind.name))" }
}
