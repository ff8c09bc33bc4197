import CofferEngine

/// The cipher of a nameless file: AES-256-CTR by offset, under a random key that dies with the file.
///
/// Not authenticated: nobody but this process finds the file, which has no name.
final class TemporaryCipher {
    private let cipher: BlockCipher
    /// The counter block, then what is skipped of the first key-stream block.
    private let work = Scratch(count: 32)

    init?() {
        guard let key = try? GuardedBytes.random(count: 32), let cipher = BlockCipher(.ctr, key: key.span)
        else {
            return nil
        }
        self.cipher = cipher
    }

    /// Encrypts or decrypts `input`, which stands at `offset` of the file.
    func run(_ input: Region, at offset: Int64, into output: Region) -> Bool {
        guard offset >= 0 else { return false }
        let counter = work.region.part(0, 16)
        counter.zero()
        let block = UInt64(offset) / 16
        counter.setBigEndian32(UInt32(truncatingIfNeeded: block >> 32), at: 8)
        counter.setBigEndian32(UInt32(truncatingIfNeeded: block), at: 12)
        guard cipher.start(iv: counter) else { return false }
        let skipped = work.region.part(16, Int(offset % 16))
        guard skipped.count == 0 || cipher.run(skipped, into: skipped) else { return false }
        return input.count == 0 || cipher.run(input, into: output)
    }
}
