import CofferBase

/// The common setup for the implementations that compute PBKDF2 round by round.
enum PBKDF2Setup {
    /// Writes the HMAC key to a zeroed block. The key is either the secret or, if the secret is longer than
    /// the block, its digest.
    static func writeKey(
        _ secret: Span<UInt8>, _ digest: DigestAlgorithm, into block: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        guard secret.count > block.count else { return block.write(secret, at: 0) }
        var context = try DigestContext.make(digest)
        try context.update(secret)
        var start = block._mutatingExtracting(..<digest.size)
        try context.finish(into: &start)
    }

    /// Writes the first U value for block `number`, which is the HMAC of the salt and the number, to
    /// `output`.
    static func writeFirst(
        _ number: Int, with mac: inout HMACContext, salt: Span<UInt8>, into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        let number = UInt32(number)
        let suffix = InlineArray<4, UInt8> { UInt8(truncatingIfNeeded: number >> (24 - 8 * UInt32($0))) }
        try mac.restart()
        try mac.update(salt)
        try mac.update(suffix.span)
        try mac.finish(into: &output)
    }
}
