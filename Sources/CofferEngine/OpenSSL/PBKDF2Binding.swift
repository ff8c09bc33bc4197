package import CofferBase
import COpenSSL

/// PBKDF2-HMAC (RFC 8018 section 5.2): with SHA-256 by the processor's own instructions, where it has them,
/// else by OpenSSL.
package enum PBKDF2Binding {
    /// With fewer rounds the fast way's preparations cost more than they save.
    private static let fewestFastRounds = 100

    /// Fills `output`. Refuses what OpenSSL takes without a word: no rounds, no output.
    package static func derive(
        secret: Span<UInt8>, salt: Span<UInt8>, rounds: Int, digest: DigestAlgorithm,
        into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        guard rounds >= 1, rounds <= Int(Int32.max) else {
            throw CofferError(.invalidInput, "PBKDF2 takes 1 to \(Int32.max) rounds, not \(rounds).")
        }
        guard output.count >= 1, output.count <= Int(Int32.max) else {
            throw CofferError(.invalidInput, "PBKDF2 gives 1 to \(Int32.max) bytes, not \(output.count).")
        }
        guard secret.count <= Int(Int32.max), salt.count <= Int(Int32.max) else {
            throw CofferError(
                .invalidInput, "PBKDF2 takes a secret and a salt of at most \(Int32.max) bytes.")
        }
        if digest == .sha256, rounds >= fewestFastRounds, FastPBKDF2.isAvailable {
            return try FastPBKDF2.derive(secret: secret, salt: salt, rounds: rounds, into: &output)
        }
        try deriveByLibrary(secret: secret, salt: salt, rounds: rounds, digest: digest, into: &output)
    }

    /// By OpenSSL alone, with arguments that have been checked; tests compare the fast way with it.
    package static func deriveByLibrary(
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
