import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import FoundationEssentials
import Synchronization

/// A writer that seals one file into a container in the format that FileFormat describes.
struct ContainerWriter {
    let id: FileID
    let device: DeviceKey
    let classKey: ClassKey
    let protection: ProtectionClass
    var suite = ContainerCipherSuite.chaCha20Poly1305
    var chunkSizeLog2 = ContainerLayout.standardChunkSizeLog2
    var context: [UInt8] = []
    var contentGeneration: UInt64 = 1
    var mediaType = ""
    /// The key that wraps the outer file key; `nil` for the key that is derived from the device key.
    var outerKEK: FileKEK?
    /// The key that wraps the inner file key; `nil` for the key that is derived from the class key.
    var innerKEK: FileKEK?

    /// Seals the entire content of `source` into `target`, writes the header last and returns the inner
    /// header. Does not flush `target`.
    @discardableResult
    func seal(
        _ source: borrowing Descriptor, name: [UInt8], into target: borrowing Descriptor,
        check: @escaping @Sendable () throws(CofferError) -> Void,
        progress: (@Sendable (FileProgress) -> Void)?
    ) throws(CofferError) -> InnerHeader {
        let status = try source.status()
        let layout = ContainerLayout(chunkSizeLog2: chunkSizeLog2, length: status.size)
        try target.reserve(layout.containerSize)

        let keys = try makeKeys()
        try sealChunks(
            source, layout: layout, outer: keys.outer, inner: keys.inner, into: target, check: check,
            progress: progress)
        var beyond = [UInt8](repeating: 0, count: 1)
        var more = beyond.mutableSpan
        // Some files, such as those of /proc, report a size of 0 and still have content.
        guard try source.status() == status, try source.read(at: status.size, into: &more) == 0 else {
            throw CofferError(
                .conflict,
                "\(source.path) was not stored because the file changed while it was being read. Try "
                    + "again.")
        }
        return try writeHeader(
            keys, length: layout.length, modified: status.modified, name: name, into: target)
    }

    /// Seals content whose length is not known in advance. Reads and seals it on one thread, about 1 MiB at a
    /// time.
    ///
    /// - Parameters:
    ///   - next: A closure that fills the span with the next bytes and returns the number of bytes. The
    ///     content ends when this number is smaller than the size of the span.
    ///   - name: The file's name.
    ///   - modified: The time at which the content was last modified, in nanoseconds since 1970.
    ///   - target: The new container.
    ///   - check: A closure that is called before each piece and throws an error to stop the work.
    /// - Returns: The inner header.
    /// - Throws: Any error from the closures or from writing to `target`.
    func seal(
        pieces next: (inout MutableSpan<UInt8>) throws(CofferError) -> Int, name: [UInt8], modified: Int64,
        into target: borrowing Descriptor, check: () throws(CofferError) -> Void
    ) throws(CofferError) -> InnerHeader {
        let keys = try makeKeys()
        var layout = ContainerLayout(chunkSizeLog2: chunkSizeLog2, length: 0)
        let runLength = ParallelChunkProcessor.runLength(layout)
        let capacity = Int(runLength) * layout.chunkSize
        let innerCipher = try keys.inner.chunkCipher()
        let outerCipher = try keys.outer.chunkCipher()
        var worker = Worker(
            inner: innerCipher, outer: outerCipher, plaintext: try AlignedBuffer.make(count: capacity),
            sealed: try AlignedBuffer.make(count: Int(runLength) * layout.stride))
        while true {
            try check()
            let count = try worker.plaintext.write(0..<capacity) { (buffer) throws(CofferError) in
                try next(&buffer)
            }
            let first = layout.length >> Int64(chunkSizeLog2)
            layout = ContainerLayout(chunkSizeLog2: chunkSizeLog2, length: layout.length + Int64(count))
            // The last chunk is always shorter than the others, so a run that is full does not hold it.
            let isEnd = count < capacity
            let run = first..<(isEnd ? layout.chunkCount : first + runLength)
            for index in run { try seal(index, of: run, layout: layout, worker: &worker) }
            let offset = layout.offset(first)
            try worker.sealed.read(0..<count + run.count * ContainerLayout.overhead) {
                (bytes) throws(CofferError) in
                try target.write(bytes, at: offset)
            }
            guard isEnd else { continue }
            return try writeHeader(keys, length: layout.length, modified: modified, name: name, into: target)
        }
    }

    /// A container's random file keys and salts, and the keys derived from them.
    private struct Keys: ~Copyable {
        let outerFileKey: SymmetricKey
        let innerFileKey: SymmetricKey
        let outerSalt: [UInt8]
        let innerSalt: [UInt8]
        let outer: LayerKeySchedule
        let inner: LayerKeySchedule
    }

    private func makeKeys() throws(CofferError) -> Keys {
        let outerFileKey = try SymmetricKey.random()
        let innerFileKey = try SymmetricKey.random()
        let outerSalt = try SecureRandom.bytes(32)
        let innerSalt = try SecureRandom.bytes(32)
        let outer = try LayerKeySchedule.derive(
            outerFileKey, layer: .outer, suite: suite, chunkSizeLog2: chunkSizeLog2, id: id,
            salt: outerSalt, context: [])
        let inner = try LayerKeySchedule.derive(
            innerFileKey, layer: .inner, suite: .aes256GCM, chunkSizeLog2: chunkSizeLog2, id: id,
            salt: innerSalt, context: context)
        return Keys(
            outerFileKey: outerFileKey, innerFileKey: innerFileKey, outerSalt: outerSalt,
            innerSalt: innerSalt, outer: outer, inner: inner)
    }

    /// Writes the header of a container whose chunks have already been written; returns the inner header.
    private func writeHeader(
        _ keys: borrowing Keys, length: Int64, modified: Int64, name: [UInt8],
        into target: borrowing Descriptor
    ) throws(CofferError) -> InnerHeader {
        let (outerKEK, innerKEK) = try keyEncryptionKeys()
        let header = InnerHeader(
            chunkSizeLog2: chunkSizeLog2, isContextBound: !context.isEmpty, keeper: innerKEK.keeper, id: id,
            salt: keys.innerSalt, kekID: innerKEK.id, wrappedKey: try innerKEK.wrap(keys.innerFileKey),
            commitment: keys.inner.commitment, contentGeneration: contentGeneration, length: length,
            modified: modified, name: name, mediaType: mediaType)
        let slot = ContainerHeaderSlot(
            suite: suite, chunkSizeLog2: chunkSizeLog2, generation: 1, id: id, salt: keys.outerSalt,
            protection: protection, kekID: outerKEK.id, wrappedKey: try outerKEK.wrap(keys.outerFileKey),
            commitment: keys.outer.commitment)
        let encodedHeader = try header.encode(authenticationKey: keys.inner.authenticationKey)
        let encodedSlot = try slot.encode(innerHeader: encodedHeader, keys: keys.outer)
        let unused = [UInt8](repeating: 0, count: ContainerHeaderSlot.size)
        try target.write(encodedSlot.span, at: 0)
        try target.write(unused.span, at: Int64(ContainerHeaderSlot.size))
        return header
    }

    private func keyEncryptionKeys() throws(CofferError) -> (outer: FileKEK, inner: FileKEK) {
        let (keys, vaultID) = (FileKeyset(), device.vaultID)
        let derivedOuter = try keys.outer(vaultID.bytes, device: device)
        let derivedInner = try keys.inner(
            classKey.id, protection, classKey: classKey, vaultID: vaultID)
        guard let outer = outerKEK ?? derivedOuter, let inner = innerKEK ?? derivedInner else {
            throw CofferError(.internalFailure, "A derived file key is missing.")
        }
        return (outer, inner)
    }

    /// The ciphers and buffers that one thread uses.
    private struct Worker: ~Copyable {
        var inner: ChunkCipher
        var outer: ChunkCipher
        let plaintext: AlignedBuffer
        let sealed: AlignedBuffer
    }

    private func sealChunks(
        _ source: borrowing Descriptor, layout: ContainerLayout, outer: borrowing LayerKeySchedule,
        inner: borrowing LayerKeySchedule, into target: borrowing Descriptor,
        check: @escaping @Sendable () throws(CofferError) -> Void,
        progress: (@Sendable (FileProgress) -> Void)?
    ) throws(CofferError) {
        let runLength = ParallelChunkProcessor.runLength(layout)
        let done = Atomic<Int64>(0)
        try ParallelChunkProcessor.run(0..<layout.chunkCount, runLength: runLength, check: check) {
            () throws(CofferError) in
            let innerCipher = try inner.chunkCipher()
            let outerCipher = try outer.chunkCipher()
            return Worker(
                inner: innerCipher, outer: outerCipher,
                plaintext: try AlignedBuffer.make(count: Int(runLength) * layout.chunkSize),
                sealed: try AlignedBuffer.make(count: Int(runLength) * layout.stride))
        } work: { (worker, run) throws(CofferError) in
            let start = run.lowerBound << Int64(layout.chunkSizeLog2)
            let count = Int(min(layout.length, run.upperBound << Int64(layout.chunkSizeLog2)) - start)
            let read = try worker.plaintext.write(0..<count) { (buffer) throws(CofferError) in
                try source.read(at: start, into: &buffer)
            }
            guard read == count else {
                throw CofferError(
                    .conflict,
                    "\(source.path) was not stored because the file changed while it was being read. Try "
                        + "again.")
            }
            for index in run {
                try seal(index, of: run, layout: layout, worker: &worker)
            }
            let sealedCount = count + run.count * ContainerLayout.overhead
            try worker.sealed.read(0..<sealedCount) { (bytes) throws(CofferError) in
                try target.write(bytes, at: layout.offset(run.lowerBound))
            }
            let completed = done.add(Int64(count), ordering: .relaxed).newValue
            progress?(FileProgress(completed: completed, total: layout.length))
        }
    }

    /// Seals both layers of one chunk in succession, while the chunk is in the CPU cache.
    private func seal(
        _ index: Int64, of run: Range<Int64>, layout: ContainerLayout, worker: inout Worker
    ) throws(CofferError) {
        let position = Int(index - run.lowerBound)
        let count = layout.plaintextCount(index)
        let source = position * layout.chunkSize
        let target = position * layout.stride
        let sealed = worker.sealed
        try worker.plaintext.read(source..<source + count) { (plaintext) throws(CofferError) in
            try sealed.write(target..<target + count + AEAD.tagSize) { (output) throws(CofferError) in
                try worker.inner.seal(plaintext, index: index, into: &output)
            }
        }
        try sealed.write(target..<target + count + ContainerLayout.overhead) { (buffer) throws(CofferError) in
            try worker.outer.sealInPlace(&buffer, index: index)
        }
    }
}
