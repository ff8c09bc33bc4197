package import CofferBase
import CofferCrypto
package import CofferEngine
package import CofferVault
import FoundationEssentials
import Synchronization

/// An open container. Its header and its length have been authenticated, and its chunks are decrypted on
/// demand.
package final class ContainerReader: Sendable {
    package let layout: ContainerLayout
    package let header: InnerHeader
    let protection: ProtectionClass
    let suite: ContainerCipherSuite
    private let file: Descriptor
    private let outer: LayerKeySchedule
    private let inner: LayerKeySchedule

    private init(
        file: consuming Descriptor, layout: ContainerLayout, header: InnerHeader, slot: ContainerHeaderSlot,
        outer: consuming LayerKeySchedule, inner: consuming LayerKeySchedule
    ) {
        self.file = file
        self.layout = layout
        self.header = header
        protection = slot.protection
        suite = slot.suite
        self.outer = outer
        self.inner = inner
    }

    private static var corruptError: CofferError { ContainerLayout.corruptError() }

    /// Returns the error for a missing, wrong or superfluous context. The error's code is the same as for
    /// damage.
    private static func wrongContext(_ header: InnerHeader) -> CofferError {
        CofferError(
            .corrupt,
            header.isContextBound
                ? "This file is bound to a different context or is damaged."
                : "This file is not bound to a context.",
            remedy: header.isContextBound ? .specifyContext : .omitContext)
    }

    /// Opens a container, and decrypts both layers of its header and its last chunk. The closure `classKey`
    /// returns the class's key or throws `locked`.
    ///
    /// - Throws: `corrupt`; `foreign` if the container belongs to another vault; `absent` if the container is
    ///   a session-only file whose session is not in `volatileKeys`; `unsupportedVersion` if a newer release
    ///   wrote the container; and any error that `classKey` throws.
    package static func open(
        _ file: consuming Descriptor, id: FileID?, device: DeviceKey, keys: FileKeyset = FileKeyset(),
        context: [UInt8] = [], volatileKeys: VolatileFileKeys? = nil,
        classKey: (ProtectionClass) throws(CofferError) -> ClassKey
    ) throws(CofferError) -> ContainerReader {
        let status = try file.status()
        guard status.kind == .regular else { throw corruptError }
        let slots = try ContainerHeader.read(file, keys: keys, device: device)
        let slot = slots.newest
        guard id == nil || id == slot.id else { throw corruptError }
        let layout = try ContainerLayout(chunkSizeLog2: slot.chunkSizeLog2, containerSize: status.size)
        let classKey = try classKey(slot.protection)
        do throws(CofferError) {
            let headerBytes = try ContainerHeaderSlot.openInnerHeader(slots.newestBytes, keys: slots.outer)
            let header = try InnerHeader.decode(headerBytes)
            guard header.id == slot.id, header.chunkSizeLog2 == slot.chunkSizeLog2,
                header.length == layout.length
            else { throw corruptError }
            guard header.isContextBound == !context.isEmpty else { throw wrongContext(header) }
            let innerKEK: FileKEK?
            if header.keeper == nil {
                innerKEK = try keys.inner(
                    header.kekID, slot.protection, classKey: classKey, vaultID: device.vaultID)
            } else {
                innerKEK = try volatileKeys?.kek(of: header, slot.protection, classKey)
            }
            guard let innerKEK else {
                throw header.keeper == nil ? corruptError : VolatileFileKeys.absentError(header.id)
            }
            let fileKey = try innerKEK.unwrap(header.wrappedKey)
            guard let inner = try header.layerKeys(fileKey, context: context, in: headerBytes) else {
                throw header.isContextBound ? wrongContext(header) : corruptError
            }
            let reader = ContainerReader(
                file: file, layout: layout, header: header, slot: slot, outer: slots.outer, inner: inner)
            // Open the last chunk first, so that truncation is detected before any plaintext is returned.
            let last = layout.chunkCount - 1
            try reader.forEachRun(in: last..<layout.chunkCount, threads: 1) { (_, _) throws(CofferError) in }
            return reader
        } catch {
            guard error.code == .notAuthentic else { throw error }
            throw corruptError
        }
    }

    /// Returns a container's protection class, for which the class key is not required.
    static func protection(
        of file: borrowing Descriptor, device: DeviceKey, keys: FileKeyset
    ) throws(CofferError) -> ProtectionClass {
        try ContainerHeader.read(file, keys: keys, device: device).newest.protection
    }

    /// Returns the inner header of `file`, which only the outer layer authenticates. You can therefore call
    /// this method while the class is locked.
    static func header(
        of file: borrowing Descriptor, id: FileID, device: DeviceKey, keys: FileKeyset
    ) throws(CofferError) -> (header: InnerHeader, protection: ProtectionClass) {
        let slots = try ContainerHeader.read(file, keys: keys, device: device)
        guard slots.newest.id == id else { throw corruptError }
        do throws(CofferError) {
            let header = try InnerHeader.decode(
                ContainerHeaderSlot.openInnerHeader(slots.newestBytes, keys: slots.outer))
            guard header.id == id else { throw corruptError }
            return (header, slots.newest.protection)
        } catch {
            throw error.code == .notAuthentic ? corruptError : error
        }
    }

    /// The ciphers and buffers that one thread uses.
    struct Worker: ~Copyable, Sendable {
        fileprivate var inner: ChunkCipher
        fileprivate var outer: ChunkCipher
        fileprivate let sealed: AlignedBuffer
        fileprivate let plaintext: AlignedBuffer
    }

    /// Creates ciphers and buffers for runs of up to `count` chunks.
    func worker(chunks count: Int) throws(CofferError) -> Worker {
        let innerCipher = try inner.chunkCipher()
        let outerCipher = try outer.chunkCipher()
        return Worker(
            inner: innerCipher, outer: outerCipher,
            sealed: try AlignedBuffer.make(count: count * layout.stride),
            plaintext: try AlignedBuffer.make(count: count * layout.chunkSize))
    }

    /// Opens `chunks` run by run, on up to `threads` threads, and passes each run's plaintext with its offset
    /// to `body`, in no particular order.
    package func forEachRun(
        in chunks: Range<Int64>, threads: Int = .max,
        check: @escaping @Sendable () throws(CofferError) -> Void = {},
        _ body: @Sendable (_ plaintext: Span<UInt8>, _ offset: Int64) throws(CofferError) -> Void
    ) throws(CofferError) {
        let runLength = ParallelChunkProcessor.runLength(layout)
        let layout = layout
        let buffered = Int(min(runLength, Int64(chunks.count)))
        try ParallelChunkProcessor.run(chunks, runLength: runLength, threads: threads, check: check) {
            () throws(CofferError) in
            try self.worker(chunks: buffered)
        } work: { (worker, run) throws(CofferError) in
            let count = try self.open(run, worker: &worker)
            try worker.plaintext.read(0..<count) { (plaintext) throws(CofferError) in
                try body(plaintext, run.lowerBound << Int64(layout.chunkSizeLog2))
            }
        }
    }

    /// Reads a run of chunks and opens them into the worker's buffer; returns the number of plaintext bytes.
    private func open(_ run: Range<Int64>, worker: inout Worker) throws(CofferError) -> Int {
        let start = run.lowerBound << Int64(layout.chunkSizeLog2)
        let count = Int(min(layout.length, run.upperBound << Int64(layout.chunkSizeLog2)) - start)
        let sealedCount = count + run.count * ContainerLayout.overhead
        let read = try worker.sealed.write(0..<sealedCount) { (buffer) throws(CofferError) in
            try file.read(at: layout.offset(run.lowerBound), into: &buffer)
        }
        guard read == sealedCount else { throw Self.corruptError }
        do throws(CofferError) {
            for index in run { try open(index, of: run, worker: &worker) }
        } catch {
            worker.plaintext.clear()
            throw error.code == .notAuthentic ? Self.corruptError : error
        }
        return count
    }

    /// Copies the part of `wanted` that chunk `index` contains to `output`, whose start corresponds to the
    /// start of `wanted`. Clears the plaintext in the worker afterwards.
    func read(
        _ index: Int64, of wanted: Range<Int64>, into output: inout MutableSpan<UInt8>, worker: inout Worker
    ) throws(CofferError) {
        let count = try open(index..<index + 1, worker: &worker)
        let offset = index << Int64(layout.chunkSizeLog2)
        let range = wanted.clamped(to: offset..<offset + Int64(count))
        worker.plaintext.read(Int(range.lowerBound - offset)..<Int(range.upperBound - offset)) {
            output.write($0, at: Int(range.lowerBound - wanted.lowerBound))
        }
        worker.plaintext.write(0..<count) { $0.clear() }
    }

    /// Opens both layers of one chunk, the outer layer in place.
    private func open(_ index: Int64, of run: Range<Int64>, worker: inout Worker) throws(CofferError) {
        let position = Int(index - run.lowerBound)
        let count = layout.plaintextCount(index)
        let source = position * layout.stride
        let target = position * layout.chunkSize
        let plaintext = worker.plaintext
        try worker.sealed.write(source..<source + count + ContainerLayout.overhead) {
            (buffer) throws(CofferError) in
            try worker.outer.openInPlace(&buffer, index: index)
        }
        try worker.sealed.read(source..<source + count + AEAD.tagSize) { (sealed) throws(CofferError) in
            try plaintext.write(target..<target + count) { (output) throws(CofferError) in
                try worker.inner.open(sealed, index: index, into: &output)
            }
        }
    }

    /// Writes the bytes in `wanted` to `buffer`, which must have room for them.
    func read(
        _ wanted: Range<Int64>, into buffer: AlignedBuffer, threads: Int = .max,
        check: @escaping @Sendable () throws(CofferError) -> Void
    ) throws(CofferError) {
        try forEachRun(
            in: chunks(of: wanted), threads: threads, check: check
        ) { (plaintext, offset) throws(CofferError) in
            let range = wanted.clamped(to: offset..<offset + Int64(plaintext.count))
            let part = plaintext.extracting(Int(range.lowerBound - offset)..<Int(range.upperBound - offset))
            let position = Int(range.lowerBound - wanted.lowerBound)
            buffer.write(position..<position + part.count) { $0.write(part, at: 0) }
        }
    }

    /// Returns the chunks that hold the bytes in `range`.
    func chunks(of range: Range<Int64>) -> Range<Int64> {
        guard !range.isEmpty else { return 0..<0 }
        return range.lowerBound >> Int64(layout.chunkSizeLog2)..<(range.upperBound - 1)
            >> Int64(layout.chunkSizeLog2) + 1
    }

    /// Verifies every chunk by decrypting it and discarding the plaintext.
    func verify(
        check: @escaping @Sendable () throws(CofferError) -> Void,
        progress: (@Sendable (FileProgress) -> Void)?
    ) throws(CofferError) {
        let done = Atomic<Int64>(0)
        let total = layout.length
        try forEachRun(in: 0..<layout.chunkCount, check: check) { (plaintext, _) throws(CofferError) in
            let completed = done.add(Int64(plaintext.count), ordering: .relaxed).newValue
            progress?(FileProgress(completed: completed, total: total))
        }
    }
}
