package import CofferBase
import COpenSSL

/// PBKDF2-HMAC (RFC 8018 section 5.2). OpenSSL's own function computes fewer than 100 rounds. For 100 rounds
/// or more, the processor's SHA-256 instructions are used if they are available for the digest, and OpenSSL's
/// bare compression functions otherwise.
package enum PBKDF2Binding {
    /// The implementations of PBKDF2. All of them produce the same bytes.
    package enum Implementation: Sendable, CaseIterable {
        /// Computes two blocks in parallel with the processor's SHA-256 instructions.
        case instructions
        /// Calls OpenSSL's compression function twice per round.
        case compression
        /// Calls OpenSSL's own function.
        case library

        package func isAvailable(for digest: DigestAlgorithm) -> Bool {
            self != .instructions || (digest == .sha256 && PBKDF2SHANI.isAvailable)
        }
    }

    /// The smallest number of rounds at which the other implementations save more time than their setup
    /// takes.
    private static let fewestFastRounds = 100

    /// Returns the implementation to use for this digest and number of rounds on this processor.
    package static func implementation(for digest: DigestAlgorithm, rounds: Int) -> Implementation {
        guard rounds >= fewestFastRounds else { return .library }
        return Implementation.instructions.isAvailable(for: digest) ? .instructions : .compression
    }

    /// Derives a key and writes it to `output`. Rejects zero rounds and an empty output, which OpenSSL
    /// accepts silently.
    package static func derive(
        secret: Span<UInt8>, salt: Span<UInt8>, rounds: Int, digest: DigestAlgorithm,
        into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        guard rounds >= 1, rounds <= Int(Int32.max) else {
            throw CofferError(.invalidInput, "PBKDF2 requires 1 to \(Int32.max) rounds, not \(rounds).")
        }
        guard output.count >= 1, output.count <= Int(Int32.max) else {
            throw CofferError(
                .invalidInput, "PBKDF2 can derive 1 to \(Int32.max) bytes, not \(output.count).")
        }
        guard secret.count <= Int(Int32.max), salt.count <= Int(Int32.max) else {
            throw CofferError(
                .invalidInput, "PBKDF2 accepts a secret and a salt of at most \(Int32.max) bytes each.")
        }
        try derive(
            by: implementation(for: digest, rounds: rounds), secret: secret, salt: salt, rounds: rounds,
            digest: digest,
            into: &output)
    }

    /// Derives a key with the given implementation, which must be available, and writes the key to `output`.
    /// The caller must have checked the arguments. Tests use this function to compare the implementations.
    package static func derive(
        by way: Implementation, secret: Span<UInt8>, salt: Span<UInt8>, rounds: Int, digest: DigestAlgorithm,
        into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        switch way {
        case .instructions:
            try PBKDF2SHANI.derive(secret: secret, salt: salt, rounds: rounds, into: &output)
        case .compression:
            try PBKDF2ByCompression.derive(
                secret: secret, salt: salt, rounds: rounds, digest: digest, into: &output)
        case .library:
            try deriveByLibrary(secret: secret, salt: salt, rounds: rounds, digest: digest, into: &output)
        }
    }

    private static func deriveByLibrary(
        secret: Span<UInt8>, salt: Span<UInt8>, rounds: Int, digest: DigestAlgorithm,
        into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        let status = unsafe output.withUnsafeMutableBufferPointer { output in
            unsafe secret.withUnsafeBytes { secret in
                unsafe salt.withUnsafeBufferPointer { salt in
                    unsafe PKCS5_PBKDF2_HMAC(
                        secret.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(secret.count),
                        salt.baseAddress, Int32(salt.count), Int32(rounds), digest.evp,
                        Int32(output.count), output.baseAddress)
                }
            }
        }
        guard status == 1 else { throw OpenSSLFailure.unexpected("PKCS5_PBKDF2_HMAC") }
    }
}
