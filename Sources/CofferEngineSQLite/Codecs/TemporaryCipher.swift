import CofferEngine

/// The cipher for an unnamed file: AES-256-CTR under a random key that is discarded with the file.
///
/// The kernel supplies a nonce for every write, so a rewritten page, a forked process or a copy of the
/// machine never reuses a key stream. ``TemporaryNonces`` keeps the nonces, but only in memory.
///
/// The file is not authenticated: it has no name, so only this process can reach it.
final class TemporaryCipher {
    private let cipher: BlockCipher
    /// The counter block, which is the nonce (10) and the index of the 16-byte block in the file (6), then
    /// the skipped part of the first key-stream block.
    private let work = Scratch(count: 32)

    init?() {
        guard let key = try? GuardedBytes.random(count: 32), let cipher = BlockCipher(.ctr, key: key.span)
        else {
            return nil
        }
        self.cipher = cipher
    }

    /// Returns a nonce for one write.
    func nonce() -> TemporaryNonces.Nonce? {
        let random = work.region.part(0, TemporaryNonces.Nonce.size)
        return SystemRandom.fill(random) ? TemporaryNonces.Nonce(random) : nil
    }

    /// Encrypts or decrypts `input`, which begins at `offset` in the file. Returns `false` if `offset` is out
    /// of range or the cipher fails.
    func run(
        _ input: SharedMemoryRegion, at offset: Int64, nonce: TemporaryNonces.Nonce,
        into output: SharedMemoryRegion
    ) -> Bool {
        let block = UInt64(offset) / 16
        guard offset >= 0, block >> 48 == 0 else { return false }
        let counter = work.region.part(0, 16)
        counter.setBigEndian32(UInt32(truncatingIfNeeded: block >> 32), at: 8)
        counter.setBigEndian32(UInt32(truncatingIfNeeded: block), at: 12)
        nonce.write(to: counter)
        guard cipher.start(iv: counter) else { return false }
        let skipped = work.region.part(16, Int(offset % 16))
        guard skipped.count == 0 || cipher.run(skipped, into: skipped) else { return false }
        return input.count == 0 || cipher.run(input, into: output)
    }
}
