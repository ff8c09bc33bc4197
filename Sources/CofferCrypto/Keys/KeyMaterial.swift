public import CofferBase
import CofferEngine

/// A derived block that a key schedule divides into several keys and public values.
public struct KeyMaterial: ~Copyable, Sendable {
    let secret: GuardedBytes

    init(_ secret: consuming GuardedBytes) { self.secret = secret }

    /// Returns the bytes in `range` as a key.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public func subkey(in range: Range<Int>) throws(CofferError) -> SymmetricKey {
        try SymmetricKey.copying(secret.span.extracting(range))
    }

    /// Returns the bytes in `range`, for the parts of a key schedule that are not secret, such as commitments
    /// and nonce bases.
    public func publicBytes(_ range: Range<Int>) -> [UInt8] {
        secret.span.extracting(range).copied()
    }
}
