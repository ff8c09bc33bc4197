import CofferBase
import CofferCrypto
import CofferEngine

/// Bytes that a function returned and that C code reads until it frees them.
final class ReturnedBytes: Sendable {
    /// The bytes and a NUL byte.
    private let secret: SecretBytes

    /// Copies the bytes to guarded memory.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    init(copying bytes: Span<UInt8>) throws(CofferError) {
        secret = SecretBytes(try GuardedBytes.concatenating(bytes, [0].span))
    }

    /// The number of bytes, without the NUL byte.
    var count: Int { secret.count - 1 }

    /// The address of the first byte, which is valid as long as this object lives.
    var start: UnsafePointer<UInt8>? {
        // The memory is never moved: it belongs to this object alone, which is a class.
        unsafe secret.exposing { unsafe $0.withUnsafeBufferPointer { $0.baseAddress } }
    }
}
