public import CofferBase
import CofferCrypto
import CofferEngine
import Synchronization
public import SystemPackage

/// A source for signed commands that arrive as files in a directory, with names that end in `.order`.
///
/// The source only reads the directory, so the directory may belong to the administrator. Every matching file
/// is read, however many there are. A command is reported until its outcome is final, so a command that
/// arrives early is accepted once it becomes valid, unless its file was removed. A file that changes is read
/// again. Links and pipes are skipped; a file that is too long is reported and refused.
///
/// The source remembers handled commands by their digests: at least the newest 65 536, at most 131 072. A
/// command that the source has forgotten is verified again. One poll reports about 16 MiB of commands,
/// starting with those that were never reported before, the newest first. The next poll reports the rest.
public final class DirectoryRevocationSource: RevocationSource {
    /// The directory that the source reads.
    public let directory: FilePath

    private let memory = Mutex(Memory())
    private static let maxByteCount = 16 << 20

    /// The files that were there at the last poll, and the commands that were handled.
    private struct Memory {
        var files: [FileKey: KnownFile] = [:]
        var handled = NewestDigests(limit: 1 << 17)
        var round = 0
    }

    /// Identifies a file that has not changed since it was read.
    private struct FileKey: Hashable {
        let device: UInt64
        let inode: UInt64
        let size: Int64
        let changed: Int64
    }

    private struct KnownFile {
        let digest: [UInt8]
        /// The number of the poll that last reported the file.
        var round: Int
    }

    private struct Candidate {
        let name: FilePath
        let key: FileKey
        let isSettled: Bool
        var known: KnownFile?
    }

    /// Creates a source that reads `directory`.
    public init(_ directory: FilePath) { self.directory = directory }

    /// Always `true`: the file of an unhandled command stays in the directory until someone removes it.
    public var repeatsUnhandled: Bool { true }

    /// Returns the unhandled commands, sorted by file name, except that well-formed commands are in the order
    /// of their counters.
    ///
    /// - Throws: The error that prevents reading the directory, such as `absent` if it does not exist.
    public func poll() async throws(CofferError) -> [Revocation] {
        try await BlockingExecutor.run { [self] cancellation throws(CofferError) in
            let box = try Descriptor.open(directory, [.read, .directory])
            let candidates = try self.candidates(in: box)
            return try memory.withLock { (memory) throws(CofferError) in
                try report(candidates, in: box, &memory) { cancellation.isCancelled }
            }
        }
    }

    /// Remembers a handled command, so later polls do not report it again.
    public func didHandle(_ revocation: Revocation) async {
        guard case .order(let bytes) = revocation, let digest = try? Digest.sha256.hash(bytes.span) else {
            return
        }
        memory.withLock { $0.handled.insert(digest) }
    }

    /// Returns the files with matching names: first those never reported, the newest first, then the others,
    /// least recently reported first.
    private func candidates(in box: borrowing Descriptor) throws(CofferError) -> [Candidate] {
        let ending = Array(".order".utf8)
        let known = memory.withLock { $0.files }
        var found: [Candidate] = []
        for name in try box.names() where FileNameBytes.of(name).suffix(ending.count).elementsEqual(ending) {
            guard let status = try? box.status(of: name), status.kind == .regular else { continue }
            let key = FileKey(
                device: status.device, inode: status.inode, size: status.size, changed: status.changed)
            found.append(
                Candidate(name: name, key: key, isSettled: status.isSettled, known: known[key]))
        }
        return found.sorted { one, other in
            (one.known?.round ?? 0, -one.key.changed) < (other.known?.round ?? 0, -other.key.changed)
        }
    }

    private func report(
        _ candidates: [Candidate], in box: borrowing Descriptor, _ memory: inout Memory,
        isCancelled: () -> Bool
    ) throws(CofferError) -> [Revocation] {
        memory.round += 1
        var files: [FileKey: KnownFile] = [:]
        var orders: [(order: ReceivedCommand, name: [UInt8])] = []
        var told: Set<[UInt8]> = []
        var remaining = Self.maxByteCount
        for var candidate in candidates where !isCancelled() {
            if let known = candidate.known, memory.handled.contains(known.digest) || remaining <= 0 {
                files[candidate.key] = known
                continue
            }
            guard remaining > 0, let bytes = Self.contents(candidate.name, in: box) else { continue }
            let digest = try Digest.sha256.hash(bytes.span)
            candidate.known = KnownFile(digest: digest, round: memory.round)
            // A file that changed a moment ago may change again while its status stays the same.
            if candidate.isSettled { files[candidate.key] = candidate.known }
            guard !memory.handled.contains(digest), told.insert(digest).inserted else { continue }
            remaining -= bytes.count
            orders.append((ReceivedCommand(bytes), FileNameBytes.of(candidate.name)))
        }
        memory.files = files
        orders.sort { $0.name.lexicographicallyPrecedes($1.name) }
        return ReceivedCommand.inSequence(orders.map(\.order)).map { .order($0.bytes) }
    }

    /// Reads at most one byte more than a command may have; returns `nil` if this is not a readable regular
    /// file.
    private static func contents(_ name: FilePath, in box: borrowing Descriptor) -> [UInt8]? {
        guard let file = try? box.open(name, .read), let status = try? file.status(),
            status.kind == .regular
        else { return nil }
        var bytes = [UInt8](
            repeating: 0, count: min(Int(clamping: status.size), SignedCommand.maxByteCount + 1))
        var span = bytes.mutableSpan
        guard let count = try? file.read(at: 0, into: &span) else { return nil }
        return Array(bytes.prefix(count))
    }
}
