package import CofferBase
import CofferEngine

/// Decrypts a file in the age format, version 1 (C2SP `age.md`), in bounded memory.
///
/// No byte is passed on before its chunk is authenticated, and every chunk is authenticated with its place in
/// the file. That a file was cut short, however, is only known at its end: what was read is complete when the
/// end was reached without an error. Files in age's text form (armor) are read, too.
package struct AgeReader: ~Copyable {
    /// A function that reads the next encrypted bytes into the span and returns their number, or `nil` at the
    /// end.
    package typealias Input = (inout MutableSpan<UInt8>) throws(CofferError) -> Int?

    private var source: AgeSource
    private var cipher: AgeChunkCipher
    /// Where plaintext that was not passed on yet is in the source's buffer.
    private var plaintext = 0..<0
    private var isAtEnd = false
    private var failure: CofferError?

    private init(_ source: consuming AgeSource, _ cipher: consuming AgeChunkCipher) {
        self.source = source
        self.cipher = cipher
    }

    /// Starts to decrypt a file with the first of `identities` for which the file is encrypted.
    ///
    /// Stanzas of unknown types are skipped.
    ///
    /// - Throws: `corrupt` if the file is not an age file or its header is damaged; `unsupportedVersion`;
    ///   `absent` if the file is encrypted for none of the identities, or for a passphrase; `notAuthentic` if
    ///   the header was changed; `refused` if the header is longer than 1 MiB; the error of `input`.
    package static func open(identities: [AgeIdentity], input: Input) throws(CofferError) -> AgeReader {
        guard !identities.isEmpty else {
            throw CofferError(.invalidInput, "An age file cannot be decrypted without an identity.")
        }
        var source = try AgeSource.start(input)
        let header = try source.header(input)
        guard let key = try AgeFileKey.find(in: try AgeStanzas(header), identities) else {
            throw CofferError(
                .absent,
                header.stanzas.contains { $0.isOf(type: AgeScrypt.type) }
                    ? "The age file is encrypted with a passphrase, not for an identity."
                    : "The age file is not encrypted for any of the given identities.")
        }
        return try start(source, header, key, input)
    }

    /// Starts to decrypt a file with a passphrase.
    ///
    /// - Throws: `wrongPasscode` if the passphrase is wrong; `absent` if the file is encrypted for
    ///   identities; `corrupt` if the file is not an age file or its header is damaged; `unsupportedVersion`;
    ///   `notAuthentic` if the header was changed; `refused` if checking the passphrase takes more than 4 GiB
    ///   of memory; `outOfMemory` if there is less; the error of `input`.
    package static func open(
        passphrase: borrowing SecretBytes, input: Input
    ) throws(CofferError) -> AgeReader {
        var source = try AgeSource.start(input)
        let header = try source.header(input)
        guard let (stanza, cost) = try AgeStanzas(header).passphrase else {
            throw CofferError(.absent, "The age file is encrypted for identities, not with a passphrase.")
        }
        guard let key = try AgeScrypt.unwrap(stanza, cost, passphrase: passphrase) else {
            throw CofferError(
                .wrongPasscode, "The passphrase is wrong, or the header of the age file is damaged.")
        }
        return try start(source, header, key, input)
    }

    private static func start(
        _ source: consuming AgeSource, _ header: AgeHeader, _ key: borrowing AgeFileKey, _ input: Input
    ) throws(CofferError) -> AgeReader {
        try key.check(header)
        try source.fill(atLeast: AgeFileKey.nonceSize, input)
        guard source.count >= AgeFileKey.nonceSize else { throw damagedError }
        let place = source.consume(AgeFileKey.nonceSize)
        let nonce = source.bytes(in: place).copied()
        return try AgeReader(source, key.payloadCipher(nonce: nonce))
    }

    /// Passes the next piece of the plaintext, of 1 byte to 64 KiB, to `body`. The bytes are in guarded
    /// memory and valid only during the call.
    ///
    /// - Returns: What `body` returns, or `nil` at the end, when the whole file is authentic.
    /// - Throws: `corrupt` if the file is damaged, cut short or extended; the error of `input` or `body`.
    ///   After an error of the file or of `input`, every call throws that error again.
    package mutating func next<Result>(
        input: Input, _ body: (Span<UInt8>) throws(CofferError) -> Result
    ) throws(CofferError) -> Result? {
        guard try load(input) else { return nil }
        let range = plaintext
        plaintext = 0..<0
        return try body(source.bytes(in: range))
    }

    /// Copies plaintext into `buffer` until it is full or the file ends.
    ///
    /// - Returns: The number of bytes. It is smaller than the buffer only at the end, when the whole file is
    ///   authentic.
    /// - Throws: `corrupt` if the file is damaged, cut short or extended; the error of `input`. After an
    ///   error, every call throws that error again.
    package mutating func read(
        into buffer: inout MutableSpan<UInt8>, input: Input
    ) throws(CofferError) -> Int {
        var count = 0
        while count < buffer.count, try load(input) {
            let end = min(plaintext.upperBound, plaintext.lowerBound + buffer.count - count)
            buffer.write(source.bytes(in: plaintext.lowerBound..<end), at: count)
            count += end - plaintext.lowerBound
            plaintext = end..<plaintext.upperBound
        }
        return count
    }

    /// Opens the next chunk unless there is plaintext. Returns whether there is.
    private mutating func load(_ input: Input) throws(CofferError) -> Bool {
        if let failure { throw failure }
        guard plaintext.isEmpty, !isAtEnd else { return !plaintext.isEmpty }
        do throws(CofferError) {
            guard let opened = try source.open(&cipher, input) else { throw Self.damagedError }
            plaintext = opened.plaintext
            isAtEnd = opened.isLast
        } catch {
            failure = error
            throw error
        }
        return !plaintext.isEmpty
    }

    private static var damagedError: CofferError {
        CofferError(.corrupt, "The age file is damaged or incomplete.", remedy: .useAnotherCopy)
    }
}
