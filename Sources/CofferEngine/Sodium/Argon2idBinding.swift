package import CofferBase
import CSodium

/// Argon2id (RFC 9106), computed by libsodium's `crypto_pwhash`.
package enum Argon2idBinding {
    /// The size of the salt in bytes. The library accepts no other size.
    package static let saltSize = Int(crypto_pwhash_argon2id_SALTBYTES)

    /// Derives `output.count` bytes from `secret` and writes them to `output`.
    package static func derive(
        secret: Span<UInt8>, salt: Span<UInt8>, passes: Int, memoryBytes: Int,
        into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        try SodiumLibrary.start()
        guard salt.count == saltSize, output.count >= 16, passes >= 1, memoryBytes >= 8192 else {
            throw CofferError(
                .invalidInput,
                "Argon2id requires a 16-byte salt, at least 16 bytes of output and at least 8 KiB of memory.")
        }
        let lengths = (UInt64(output.count), UInt64(secret.count))
        let status = unsafe output.withPointer { target in
            unsafe secret.withCharacters { secret in
                unsafe salt.withPointer { salt in
                    unsafe crypto_pwhash_argon2id(
                        target, lengths.0, secret, lengths.1, salt, UInt64(passes), memoryBytes,
                        crypto_pwhash_argon2id_ALG_ARGON2ID13)
                }
            }
        }
        guard status == 0 else {
            throw CofferError(
                .outOfMemory,
                "Deriving the key requires \(memoryBytes >> 20) MiB of memory, which is not available. Close "
                    + "other programs, or raise the limits on address space and data (ulimit -v, ulimit -d).")
        }
    }
}
