import CofferEngine

/// The cipher of a nameless file: AES-256-CTR under a random key that dies with the file.
///
/// Every write has a nonce of its own from the kernel, so that a rewritten page, a forked process or a copy
/// of the machine never uses a key stream twice. ``TemporaryNonces`` keeps the nonces, in memory alone.
///
/// Not authenticated: nobody but this process finds the file, which has no name.
final class TemporaryCipher {
    private let cipher: BlockCipher
    /// The counter block: the nonce (10) and the number of the block of 16 bytes in the file (6). Then what
    /// is skipped of the first key-stream block.
    private let work = Scratch(count: 32)

    init?() {
        guard let key = try? GuardedBytes.random(count: 32), let cipher = BlockCipher(.ctr, key: key.span)
        else {
            return nil
        }
        self.cipher = cipher
    }

    /// A nonce for one write.
    func nonce() -> TemporaryNonces.Nonce? {
        let random = work.region.part(0, TemporaryNonces.Nonce.size)
        return SystemRandom.fill(random) ? TemporaryNonces.Nonce(random) : nil
    }

    /// Encrypts or decrypts `input`, which stands at `offset` of the file.
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
