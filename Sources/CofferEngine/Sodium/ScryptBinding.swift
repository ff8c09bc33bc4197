package import CofferBase
import CSodium

/// scrypt (RFC 7914), computed by libsodium's `crypto_pwhash_scryptsalsa208sha256_ll`.
package enum ScryptBinding {
    /// The stack depth of the library's calls, in bytes, including a margin.
    private static let stackDepth = 16384

    /// Derives `output.count` bytes from `secret` at the cost N = 2^`workFactor`, r = 8 and p = 1, which
    /// takes 2^`workFactor` KiB of memory, and writes them to `output`.
    package static func derive(
        secret: Span<UInt8>, salt: Span<UInt8>, workFactor: Int, into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        try SodiumLibrary.start()
        guard (1...30).contains(workFactor), output.count > 0 else {
            throw CofferError(.invalidInput, "The work factor of scrypt must be 1 to 30.")
        }
        let size = output.count
        let status = unsafe output.withPointer { target in
            unsafe secret.withPointer { secretStart in
                unsafe salt.withPointer { saltStart in
                    unsafe crypto_pwhash_scryptsalsa208sha256_ll(
                        secretStart, secret.count, saltStart, salt.count, 1 << UInt64(workFactor), 8, 1,
                        target, size)
                }
            }
        }
        sodium_stackzero(stackDepth)
        guard status == 0 else {
            throw CofferError(
                .outOfMemory,
                "Deriving the key requires \(max(1, (1 << workFactor) >> 10)) MiB of memory, which is not "
                    + "available. Close other programs, or raise the limits on address space and data "
                    + "(ulimit -v, ulimit -d).")
        }
    }
}
