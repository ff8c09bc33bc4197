import CofferBase

/// The common setup for the implementations that compute PBKDF2 round by round.
enum PBKDF2Setup {
    /// Writes the HMAC key into a zeroed block: the secret, or the digest of a secret that is longer than the
    /// block.
    static func writeKey(
        _ secret: Span<UInt8>, _ digest: DigestAlgorithm, into block: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        guard secret.count > block.count else { return block.write(secret, at: 0) }
        var context = try DigestContext.make(digest)
        try context.update(secret)
        var start = block._mutatingExtracting(..<digest.size)
        try context.finish(into: &start)
    }

    /// Writes the first U value for block `number`: the HMAC of the salt and the number.
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
