package import CofferBase
import CofferEngine

/// Encrypts a file in the age format, version 1 (C2SP `age.md`), in bounded memory.
///
/// A file for recipients can be decrypted with the identity of any of them; a file for a passphrase, with
/// that passphrase. The file hides neither the plaintext's size nor the number of recipients, and it does not
/// show who wrote it: everyone who knows a recipient can encrypt to it.
///
/// The output is passed on in pieces of up to about 256 KiB. If passing it on fails, the writer accepts
/// nothing more.
package struct AgeWriter: ~Copyable {
    /// A function that passes encrypted bytes on.
    package typealias Output = (Span<UInt8>) throws(CofferError) -> Void

    /// The number of sealed chunks that are collected before they are passed on.
    private static let batch = 4

    private var cipher: AgeChunkCipher
    /// Plaintext of a chunk that is not sealed yet.
    private var pending: GuardedBytes
    private var pendingCount = 0
    private let sealed: AlignedBuffer
    private var sealedCount = 0
    private var failure: CofferError?

    private init(
        _ cipher: consuming AgeChunkCipher, _ pending: consuming GuardedBytes, _ sealed: AlignedBuffer
    ) {
        self.cipher = cipher
        self.pending = pending
        self.sealed = sealed
    }

    /// Starts a file that the identity of each of `recipients` can decrypt, and writes its header.
    ///
    /// - Throws: `invalidInput` if there is no recipient, more than 10 000, or an invalid one.
    package static func start(
        to recipients: [AgeRecipient], output: Output
    ) throws(CofferError) -> AgeWriter {
        guard !recipients.isEmpty else {
            throw CofferError(.invalidInput, "An age file needs at least one recipient or a passphrase.")
        }
        guard recipients.count <= AgeHeader.recipientLimit else {
            throw CofferError(
                .invalidInput,
                "An age file can be encrypted to \(AgeHeader.recipientLimit) recipients, not to more.")
        }
        let key = try AgeFileKey.random()
        var stanzas: [AgeStanza] = []
        for recipient in recipients { stanzas.append(try AgeX25519.wrap(key, to: recipient)) }
        return try start(stanzas, key, output)
    }

    /// Starts a file that `passphrase` can decrypt, and writes its header.
    ///
    /// - Parameters:
    ///   - passphrase: The passphrase's bytes, used unchanged.
    ///   - workFactor: The cost of checking one passphrase: 2^`workFactor` KiB of memory. The standard of 18
    ///     takes 256 MiB and about a second.
    ///   - output: The function that receives the header.
    /// - Returns: The writer of the file's content.
    /// - Throws: `invalidInput` if the passphrase is empty or the work factor is not 1 to 22; `outOfMemory`.
    package static func start(
        passphrase: borrowing SecretBytes, workFactor: Int = 18, output: Output
    ) throws(CofferError) -> AgeWriter {
        guard passphrase.count > 0 else {
            throw CofferError(.invalidInput, "The passphrase of an age file cannot be empty.")
        }
        let key = try AgeFileKey.random()
        let stanza = try AgeScrypt.wrap(key, passphrase: passphrase, workFactor: workFactor)
        return try start([stanza], key, output)
    }

    private static func start(
        _ stanzas: [AgeStanza], _ key: borrowing AgeFileKey, _ output: Output
    ) throws(CofferError) -> AgeWriter {
        let nonce = try SecureRandom.bytes(AgeFileKey.nonceSize)
        let start = try AgeHeader(stanzas, key: key).encoded() + nonce
        let cipher = try key.payloadCipher(nonce: nonce)
        let pending = try GuardedBytes.zeroed(count: AgeChunkCipher.chunkSize)
        let sealed = try AlignedBuffer.make(count: batch * AgeChunkCipher.sealedSize)
        try output(start.span)
        return AgeWriter(cipher, pending, sealed)
    }

    /// Adds bytes to the plaintext.
    ///
    /// - Throws: The error of `output`; `internalFailure` if the underlying library fails. After an error,
    ///   every call throws that error again.
    package mutating func write(_ plaintext: Span<UInt8>, output: Output) throws(CofferError) {
        try checked { (writer) throws(CofferError) in try writer.add(plaintext, output) }
    }

    /// Seals the last chunk and passes on everything that remains. Without this call the file is incomplete,
    /// and every reader says so.
    ///
    /// - Throws: The error of `output`, or that of an earlier call.
    package consuming func finish(output: Output) throws(CofferError) {
        try checked { (writer) throws(CofferError) in
            try writer.sealPending(isLast: true, output)
            try writer.passOn(output)
        }
    }

    private mutating func checked(
        _ body: (inout AgeWriter) throws(CofferError) -> Void
    ) throws(CofferError) {
        if let failure { throw failure }
        do throws(CofferError) {
            try body(&self)
        } catch {
            failure = error
            throw error
        }
    }

    /// Seals all full chunks except the last one, which may be the file's last chunk.
    private mutating func add(_ plaintext: Span<UInt8>, _ output: Output) throws(CofferError) {
        var start = 0
        if pendingCount > 0 {
            start = min(AgeChunkCipher.chunkSize - pendingCount, plaintext.count)
            keep(plaintext.extracting(..<start))
        }
        guard start < plaintext.count else { return }
        if pendingCount > 0 { try sealPending(isLast: false, output) }
        while plaintext.count - start > AgeChunkCipher.chunkSize {
            let chunk = plaintext.extracting(start..<start + AgeChunkCipher.chunkSize)
            try seal(chunk, output)
            start += AgeChunkCipher.chunkSize
        }
        keep(plaintext.extracting(start...))
    }

    private mutating func keep(_ bytes: Span<UInt8>) {
        let end = pendingCount
        pendingCount += bytes.count
        var span = pending.mutableSpan
        span.write(bytes, at: end)
    }

    private mutating func sealPending(isLast: Bool, _ output: Output) throws(CofferError) {
        try makeRoom(output)
        sealedCount += try Self.seal(
            pending, count: pendingCount, isLast: isLast, with: &cipher, into: sealed, at: sealedCount)
        pendingCount = 0
    }

    private mutating func seal(_ chunk: Span<UInt8>, _ output: Output) throws(CofferError) {
        try makeRoom(output)
        sealedCount += try Self.seal(chunk, isLast: false, with: &cipher, into: sealed, at: sealedCount)
    }

    private static func seal(
        _ pending: borrowing GuardedBytes, count: Int, isLast: Bool, with cipher: inout AgeChunkCipher,
        into sealed: AlignedBuffer, at offset: Int
    ) throws(CofferError) -> Int {
        try seal(
            pending.span.extracting(..<count), isLast: isLast, with: &cipher, into: sealed, at: offset)
    }

    /// Seals a chunk and returns its size.
    private static func seal(
        _ chunk: Span<UInt8>, isLast: Bool, with cipher: inout AgeChunkCipher, into sealed: AlignedBuffer,
        at offset: Int
    ) throws(CofferError) -> Int {
        let size = chunk.count + AEAD.tagSize
        try sealed.write(offset..<offset + size) { (target) throws(CofferError) in
            try cipher.seal(chunk, isLast: isLast, into: &target)
        }
        return size
    }

    /// Passes on what is sealed, unless another chunk fits behind it.
    private mutating func makeRoom(_ output: Output) throws(CofferError) {
        if sealedCount + AgeChunkCipher.sealedSize > sealed.count { try passOn(output) }
    }

    private mutating func passOn(_ output: Output) throws(CofferError) {
        let count = sealedCount
        sealedCount = 0
        try sealed.read(0..<count) { (bytes) throws(CofferError) in try output(bytes) }
    }
}
