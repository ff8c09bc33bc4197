public import CofferBase
import CofferCrypto
import CofferEngine
import FoundationEssentials
public import SystemPackage

/// The files of one vault, each doubly encrypted in a container of its own: see <doc:FileFormat>.
///
/// Works in bounded memory whatever the size, on every processor. Cancelling the task stops at the next chunk
/// and leaves nothing behind.
public final class FileStore: Sendable {
    let core: SessionCore
    /// What a lock takes back.
    let openViews: OpenViews

    init(core: SessionCore) {
        self.core = core
        openViews = OpenViews(core.hub)
    }

    /// Seals a copy of the file at `path`. The original stays unless you ask otherwise.
    ///
    /// - Parameters:
    ///   - path: A regular file; its name and date are kept, sealed.
    ///   - protection: When it can be read.
    ///   - outerSuite: The cipher of the outer layer.
    ///   - removingOriginal: Remove the file at `path` once the sealed copy is safe on the disk. Its blocks
    ///     may stay readable on the medium: nothing here can promise otherwise.
    ///   - progress: Called now and then from working threads.
    /// - Returns: What the file is found by from now on.
    /// - Throws: `locked`, `wiped`; `refused` for what is not a regular file; `conflict` when the file
    ///   changes while it is read; `noSpace`, `readOnly`, `cancelled`.
    public func add(
        contentsOf path: FilePath, class protection: ProtectionClass = .whenUnlockedThisDeviceOnly,
        outerSuite: OuterSuite = .chaCha20Poly1305, removingOriginal: Bool = false,
        progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(CofferError) -> FileID {
        try await BlockingWork.run { [self] cancellation throws(CofferError) in
            guard let name = path.lastComponent else {
                throw CofferError(.refused, "\(path) names no file.")
            }
            let check = try stopping(cancellation)
            let classKey = try core.keyForStoring(protection)
            let source = try Descriptor.open(path, [.read, .nonBlocking])
            guard try source.status().kind == .regular else {
                throw CofferError(.refused, "\(path) is not a regular file.")
            }
            if removingOriginal { try Self.checkRemoval(of: path, source) }
            let id = try FileID.random()
            let writer = ContainerWriter(
                id: id, device: core.device, classKey: classKey, protection: protection, suite: outerSuite)
            try addContainer(id, protection) { (target) throws(CofferError) in
                try writer.seal(
                    source, name: name.bytes, into: target, check: check, progress: progress)
            }
            if removingOriginal { try Self.remove(path, ifStill: source) }
            return id
        }
    }

    /// What is known of every file, ordered by name.
    ///
    /// - Throws: `locked` when any of them cannot be read now; `wiped`, `corrupt`.
    public func list() async throws(CofferError) -> [FileInfo] {
        try await BlockingWork.run { [self] cancellation throws(CofferError) in
            var infos: [FileInfo] = []
            for id in try ids() {
                try cancellation.check()
                infos.append(try open(id).info)
            }
            return infos.sorted { ($0.name.string, $0.id.description) < ($1.name.string, $1.id.description) }
        }
    }

    /// What is known of one file.
    ///
    /// - Throws: `absent`, `locked`, `wiped`, `corrupt`.
    public func info(for id: FileID) async throws(CofferError) -> FileInfo {
        try await BlockingWork.run { [self] _ throws(CofferError) in try open(id).info }
    }

    /// How many files there are; known also while locked.
    ///
    /// - Throws: `wiped`.
    public func count() async throws(CofferError) -> Int {
        try await BlockingWork.run { [self] _ throws(CofferError) in try ids().count }
    }

    /// Gives `body` the bytes of `range` piece by piece and in order; no file is made.
    ///
    /// Each piece is authentic when `body` sees it. When an error is thrown, discard what came before.
    ///
    /// - Parameters:
    ///   - id: The file.
    ///   - range: Offsets into the plaintext, cut to its length; `nil` for all of it.
    ///   - body: Called with about 1 MiB at a time.
    /// - Throws: `absent`, `locked`, `wiped`, `corrupt`, and what `body` throws.
    public func readChunks(
        of id: FileID, range: Range<Int64>? = nil,
        _ body: @escaping @Sendable (Span<UInt8>) throws(CofferError) -> Void
    ) async throws(CofferError) {
        try await BlockingWork.run { [self] cancellation throws(CofferError) in
            let check = try stopping(cancellation)
            let reader = try open(id)
            let wanted = try Self.clamp(range, to: reader.layout.length)
            try reader.forEachRun(
                in: reader.chunks(of: wanted), threads: 1, check: check
            ) { (plaintext, offset) throws(CofferError) in
                let part = wanted.clamped(to: offset..<offset + Int64(plaintext.count))
                try body(plaintext.extracting(Int(part.lowerBound - offset)..<Int(part.upperBound - offset)))
            }
        }
    }

    /// Gives `body` the bytes of `range` at once, in memory that is cleared afterwards; no file is made.
    ///
    /// - Parameters:
    ///   - id: The file.
    ///   - range: Offsets into the plaintext, cut to its length; `nil` for all of it.
    ///   - body: What uses the bytes.
    /// - Returns: What `body` gives.
    /// - Throws: `absent`, `locked`, `wiped`, `corrupt`, `outOfMemory`, and what `body` throws.
    public func withDecryptedBytes<Result: Sendable>(
        of id: FileID, range: Range<Int64>? = nil,
        _ body: @escaping @Sendable (Span<UInt8>) throws(CofferError) -> Result
    ) async throws(CofferError) -> Result {
        try await BlockingWork.run { [self] cancellation throws(CofferError) in
            let check = try stopping(cancellation)
            let reader = try open(id)
            let wanted = try Self.clamp(range, to: reader.layout.length)
            let buffer = try AlignedBuffer.make(count: max(wanted.count, 1))
            try reader.read(wanted, into: buffer, check: check)
            return try buffer.read(0..<wanted.count, body)
        }
    }

    /// Opens a file for reads at any place, each of which opens only the chunks it needs.
    ///
    /// - Throws: `absent`, `locked`, `wiped`, `corrupt`.
    public func reader(for id: FileID) async throws(CofferError) -> StoredFileReader {
        try await BlockingWork.run { [self] _ throws(CofferError) in
            let check = try stopping(BlockingWork.Cancellation())
            return StoredFileReader(try open(id), check: check)
        }
    }

    /// Opens every chunk without keeping anything.
    ///
    /// - Throws: `absent`, `locked`, `wiped`, `corrupt`.
    public func verify(
        _ id: FileID, progress: (@Sendable (FileProgress) -> Void)? = nil
    ) async throws(CofferError) {
        try await BlockingWork.run { [self] cancellation throws(CofferError) in
            let check = try stopping(cancellation)
            try open(id).verify(check: check, progress: progress)
        }
    }

    /// Removes a file; gives whether there was one. Its key goes with it: what stays on the medium is noise
    /// as long as the vault's keys stay secret.
    ///
    /// - Throws: `wiped`, `busy`, `readOnly`.
    @discardableResult
    public func remove(_ id: FileID) async throws(CofferError) -> Bool {
        try await BlockingWork.run { [self] _ throws(CofferError) in
            try core.home.changingVault { (vault) throws(CofferError) in
                let directory = try vault.open(Home.filesName, [.read, .directory])
                guard try directory.status(of: id.fileName) != nil else { return false }
                try Self.destroy(id.fileName, in: directory)
                return true
            }
        }
    }

    /// Removes a container, under the home's lock.
    static func destroy(_ name: FilePath, in directory: borrowing Descriptor) throws(CofferError) {
        // Out of sight by one rename, so that a crash leaves the file whole or gone; then destroyed.
        let doomed = try Descriptor.temporaryName()
        try directory.rename(name, to: doomed)
        try directory.sync()
        try destroyHeader(of: doomed, in: directory)
        try directory.remove(doomed)
        try directory.sync()
    }
}

extension FileStore {
    /// Opens a container by id.
    func open(_ id: FileID) throws(CofferError) -> ContainerReader {
        let directory = try openDirectory()
        let file: Descriptor
        do throws(CofferError) {
            file = try directory.open(id.fileName, .read)
        } catch {
            guard error.code == .absent else { throw error }
            throw CofferError(.absent, "There is no file \(id).")
        }
        return try ContainerReader.open(file, id: id, device: core.device) {
            (protection) throws(CofferError) in
            try core.keys.key(protection)
        }
    }

    private func openDirectory() throws(CofferError) -> Descriptor {
        let vault = try core.home.openVault()
        return try core.home.checkingState { () throws(CofferError) in
            try vault.open(Home.filesName, [.read, .directory])
        }
    }

    private func ids() throws(CofferError) -> [FileID] {
        try openDirectory().names().compactMap { FileID(fileName: $0) }
    }

    /// Creates a container under a temporary name, lets `fill` write it, flushes it and gives it its name.
    private func addContainer(
        _ id: FileID, _ protection: ProtectionClass,
        _ fill: (borrowing Descriptor) throws(CofferError) -> Void
    ) throws(CofferError) {
        let directory = try openDirectory()
        let temporary = try Descriptor.temporaryName()
        // The lock on the unfinished file tells the next writer that its owner is alive; it goes with the
        // descriptor.
        let file: Descriptor = try core.home.changingVault { (_) throws(CofferError) in
            try directory.removeAbandonedTemporaries()
            let file = try directory.open(temporary, [.readWrite, .exclusive])
            try file.lock()
            return file
        }
        do throws(CofferError) {
            try fill(file)
            try file.sync()
            try core.home.changingVault { (_) throws(CofferError) in
                // While a long file was sealed, the passcode may have gone and its class with it.
                if protection.needsPasscode { _ = try core.keyForStoring(protection) }
                try directory.renameWithoutReplacing(temporary, to: id.fileName)
                try directory.sync()
            }
        } catch {
            _ = try? directory.remove(temporary)
            guard error.code == .absent else { throw error }
            return try core.home.checkingState { () throws(CofferError) in throw error }
        }
    }

    /// Destroys both wrapped keys in place, so that the container opens with nothing that is left.
    private static func destroyHeader(of name: FilePath, in directory: borrowing Descriptor)
        throws(CofferError)
    {
        let file = try directory.open(name, .readWrite)
        let noise = try SecureRandom.bytes(Int(ContainerLayout.headerSize))
        try file.write(noise.span, at: 0)
        try file.syncData()
    }

    /// What cannot be removed later is refused before anything is sealed.
    private static func checkRemoval(
        of path: FilePath, _ source: borrowing Descriptor
    ) throws(CofferError) {
        guard let name = path.lastComponent else { return }
        let parent = path.removingLastComponent()
        let directory = try Descriptor.open(parent.isEmpty ? "." : parent, [.read, .directory])
        guard try directory.status(of: FilePath(root: nil, [name]))?.isSameFile(as: source.status()) == true
        else {
            throw CofferError(.refused, "\(path) is a link: the file behind it is not removed through it.")
        }
    }

    private static func remove(_ path: FilePath, ifStill source: borrowing Descriptor) throws(CofferError) {
        guard let name = path.lastComponent else { return }
        let parent = path.removingLastComponent()
        let directory = try Descriptor.open(parent.isEmpty ? "." : parent, [.read, .directory])
        let own = FilePath(root: nil, [name])
        guard try directory.status(of: own)?.isSameFile(as: source.status()) == true else {
            throw CofferError(.conflict, "\(path) was replaced while it was sealed; it was not removed.")
        }
        try directory.remove(own)
        try directory.sync()
    }

    /// Long work stops when its task is cancelled or the session locks. Ask before taking a key, so that a
    /// lock in between is seen.
    func stopping(
        _ cancellation: BlockingWork.Cancellation
    ) throws(CofferError) -> @Sendable () throws(CofferError) -> Void {
        let keys = core.keys
        let epoch = keys.epoch
        return { () throws(CofferError) in
            try cancellation.check()
            guard keys.epoch == epoch else { throw keys.isWiped ? CofferError.wiped : CofferError.locked }
        }
    }

    static func clamp(_ range: Range<Int64>?, to length: Int64) throws(CofferError) -> Range<Int64> {
        guard let range else { return 0..<length }
        guard range.lowerBound >= 0 else { throw CofferError(.invalidInput, "A range begins at 0 or later.") }
        return range.clamped(to: 0..<length)
    }
}

extension ContainerReader {
    var info: FileInfo {
        get throws(CofferError) {
            guard let name = FilePath.Component(bytes: header.name) else {
                throw CofferError(.corrupt, "The container's name is not a file name.")
            }
            return FileInfo(
                id: header.id, name: name, length: layout.length,
                modified: Date(nanosecondsSince1970: header.modified), protection: protection)
        }
    }
}

extension FilePath.Component {
    /// The name's bytes as they are on the disk.
    var bytes: [UInt8] { FileNameBytes.of(self) }

    /// The name of these bytes; `nil` for what no directory entry can be.
    init?(bytes: [UInt8]) {
        guard let component = FileNameBytes.component(bytes), component.kind == .regular else { return nil }
        self = component
    }
}
