import CofferBase
import CofferEngine

/// The payload of an age file: chunks of 64 KiB, each sealed under a nonce that contains its number and
/// whether it is the last one (STREAM).
struct AgeChunkCipher: ~Copyable {
    /// The plaintext of every chunk except the last one, which is shorter or just as long, and which is empty
    /// only if the whole plaintext is empty.
    static let chunkSize = 64 << 10
    static let sealedSize = chunkSize + AEAD.tagSize

    private var cipher: UnsafeNonceAEAD
    /// The next chunk's number in big-endian order. It precedes a byte that is 1 for the last chunk.
    private var number = [UInt8](repeating: 0, count: 11)

    private init(_ cipher: consuming UnsafeNonceAEAD) { self.cipher = cipher }

    static func make(key: borrowing SymmetricKey) throws(CofferError) -> AgeChunkCipher {
        AgeChunkCipher(try UnsafeNonceAEAD.prepare(.chaCha20Poly1305, key: key))
    }

    /// Whether no chunk has been sealed or opened yet.
    var isAtStart: Bool { number.allSatisfy { $0 == 0 } }

    /// Seals the next chunk into `output`, which is 16 bytes longer.
    mutating func seal(
        _ chunk: Span<UInt8>, isLast: Bool, into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        let nonce = nextNonce(isLast: isLast)
        try cipher.seal(chunk, nonce: nonce.span, associatedData: Span(), into: &output)
    }

    /// Replaces the next chunk with its plaintext, which is 16 bytes shorter. Throws `notAuthentic` if it is
    /// not the next chunk of this file.
    mutating func open(_ chunk: inout MutableSpan<UInt8>, isLast: Bool) throws(CofferError) {
        let nonce = nextNonce(isLast: isLast)
        try cipher.openInPlace(&chunk, nonce: nonce.span)
    }

    /// Returns the nonce of the next chunk and counts the chunk, so that no nonce is used twice.
    private mutating func nextNonce(isLast: Bool) -> [UInt8] {
        let next = number + [isLast ? 1 : 0]
        for index in number.indices.reversed() {
            number[index] &+= 1
            if number[index] != 0 { break }
        }
        return next
    }
}
