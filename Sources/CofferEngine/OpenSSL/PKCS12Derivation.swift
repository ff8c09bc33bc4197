package import CofferBase
import COpenSSL

/// The key derivation of PKCS #12 (RFC 7292, appendix B). OpenSSL's own leaves the passphrase in memory that
/// it does not clear, so this one uses only its hash functions, and has everything else in guarded memory.
package enum PKCS12Derivation {
    /// The use of the derived bytes.
    package enum Purpose: UInt8, Sendable {
        case key = 1
        case initialization = 2
        case authentication = 3
    }

    /// Returns how many times the rounds are computed for this many bytes.
    package static func blocks(_ count: Int, _ digest: DigestAlgorithm) -> Int {
        (count + digest.size - 1) / digest.size
    }

    /// Derives bytes from a passphrase.
    ///
    /// - Parameters:
    ///   - passphrase: The passphrase in UTF-16 with the high byte first, usually with two zero bytes at its
    ///     end.
    ///   - salt: The salt.
    ///   - rounds: The number of rounds, at least 1.
    ///   - digest: The hash function.
    ///   - purpose: What the bytes are for.
    ///   - count: The number of bytes, at least 1.
    /// - Returns: The bytes.
    /// - Throws: `invalidInput` for numbers below 1; `outOfMemory`.
    package static func derive(
        _ passphrase: Span<UInt8>, salt: Span<UInt8>, rounds: Int, digest: DigestAlgorithm,
        _ purpose: Purpose, count: Int
    ) throws(CofferError) -> GuardedBytes {
        guard rounds >= 1, count >= 1 else {
            throw CofferError(.invalidInput, "The derivation needs at least one round and one byte.")
        }
        let block = digest == .sha384 || digest == .sha512 ? 128 : 64
        let (saltSize, secretSize) = (filled(salt.count, block), filled(passphrase.count, block))
        var input = try GuardedBytes.filled(count: block + saltSize + secretSize) {
            (span) throws(CofferError) in
            for index in 0..<block { span[index] = purpose.rawValue }
            for index in 0..<saltSize { span[block + index] = salt[index % salt.count] }
            for index in 0..<secretSize {
                span[block + saltSize + index] = passphrase[index % passphrase.count]
            }
        }
        var output = try GuardedBytes.zeroed(count: count)
        var hash = try GuardedBytes.zeroed(count: digest.size)
        let hasher = try Hasher.make(digest)
        var done = 0
        while done < count {
            try hasher.hash(input.span, into: &hash)
            for _ in 1..<rounds { try hasher.rehash(&hash) }
            let piece = min(digest.size, count - done)
            var span = output.mutableSpan
            span.write(hash.span.extracting(0..<piece), at: done)
            done += piece
            if done < count { add(hash, to: &input, block) }
        }
        return output
    }

    /// Returns the smallest multiple of `block` that is not less than `count`.
    private static func filled(_ count: Int, _ block: Int) -> Int { (count + block - 1) / block * block }

    /// Adds the hash, repeated to a block, and 1 to each block of the input after the first.
    private static func add(_ hash: borrowing GuardedBytes, to input: inout GuardedBytes, _ block: Int) {
        let size = hash.count
        var span = input.mutableSpan
        for start in stride(from: block, to: span.count, by: block) {
            var carry = 1
            for index in (0..<block).reversed() {
                let sum = Int(span[start + index]) + Int(hash.span[index % size]) + carry
                span[start + index] = UInt8(sum & 0xFF)
                carry = sum >> 8
            }
        }
    }

    /// The owner of a digest context, which is used again for each round and cleared at the end.
    @safe private final class Hasher {
        private let pointer: OpaquePointer
        private let digest: DigestAlgorithm

        private init(_ pointer: OpaquePointer, _ digest: DigestAlgorithm) {
            unsafe self.pointer = pointer
            self.digest = digest
        }

        deinit { unsafe EVP_MD_CTX_free(pointer) }

        static func make(_ digest: DigestAlgorithm) throws(CofferError) -> Hasher {
            guard let pointer = unsafe EVP_MD_CTX_new() else {
                throw OpenSSLFailure.unexpected("EVP_MD_CTX_new")
            }
            return unsafe Hasher(pointer, digest)
        }

        func hash(_ input: Span<UInt8>, into hash: inout GuardedBytes) throws(CofferError) {
            var span = hash.mutableSpan
            let isDone = unsafe span.withPointer { output in
                unsafe input.withPointer { unsafe run($0, input.count, output) }
            }
            guard isDone else { throw OpenSSLFailure.unexpected("EVP_DigestFinal_ex") }
        }

        /// Replaces the hash by its own hash.
        func rehash(_ hash: inout GuardedBytes) throws(CofferError) {
            let count = hash.count
            var span = hash.mutableSpan
            guard unsafe span.withPointer({ unsafe run($0, count, $0) }) else {
                throw OpenSSLFailure.unexpected("EVP_DigestFinal_ex")
            }
        }

        private func run(
            _ input: UnsafePointer<UInt8>, _ count: Int, _ output: UnsafeMutablePointer<UInt8>
        ) -> Bool {
            unsafe EVP_DigestInit_ex(pointer, digest.evp, nil) == 1
                && EVP_DigestUpdate(pointer, input, count) == 1
                && EVP_DigestFinal_ex(pointer, output, nil) == 1
        }
    }
}
