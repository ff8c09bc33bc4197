package import CofferBase
import CSHA2

/// PBKDF2-HMAC-SHA256 with the processor's SHA-256 instructions. The hash states after the HMAC key's pads
/// are computed once, each round requires two compressions, and two output blocks are computed in parallel.
///
/// OpenSSL computes the first U value of each block. All secrets are in guarded memory.
package enum PBKDF2SHANI {
    /// Whether this processor has the SHA-256 instructions and no mask disables them.
    package static let isAvailable = csha2_available() && ProcessorFeatures.allowsSHA256

    /// Derives a key and writes it to `output`. Requires that ``isAvailable`` is `true`, and at least one
    /// round and one byte of output.
    package static func derive(
        secret: Span<UInt8>, salt: Span<UInt8>, rounds: Int, into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        let area = try WorkArea.make()
        try area.start(secret)
        var mac = try HMACContext.make(key: secret, digest: .sha256)
        var block = 0
        while block * 32 < output.count {
            let count = min(2, (output.count - block * 32 + 31) / 32)
            for lane in 0..<count {
                try area.begin(lane, with: &mac, salt: salt, number: block + lane + 1)
            }
            area.run(blocks: count, rounds: UInt32(rounds - 1))
            for lane in 0..<count { area.copy(lane, to: &output, at: (block + lane) * 32) }
            block += count
        }
    }
}

/// The working memory for the rounds, in guarded pages.
@safe private final class WorkArea {
    private let storage: GuardedStorage
    private let inner: UnsafeMutablePointer<UInt32>
    private let outer: UnsafeMutablePointer<UInt32>
    private let last: UnsafeMutablePointer<UInt32>
    private let total: UnsafeMutablePointer<UInt32>
    private let pad: UnsafeMutablePointer<UInt8>

    /// The initial state of SHA-256 (FIPS 180-4 section 5.3.3).
    private static let initial: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab,
        0x5be0_cd19,
    ]

    private init(_ storage: GuardedStorage) {
        self.storage = storage
        let words = unsafe UnsafeMutableRawPointer(storage.start).bindMemory(to: UInt32.self, capacity: 48)
        unsafe inner = words
        unsafe outer = words + 8
        unsafe last = words + 16
        unsafe total = words + 32
        unsafe pad = storage.start + 192
    }

    static func make() throws(CofferError) -> WorkArea { WorkArea(try GuardedStorage.make(count: 256)) }

    /// Computes the states after the key's two pads.
    func start(_ secret: Span<UInt8>) throws(CofferError) {
        var key = unsafe MutableSpan<UInt8>(_unsafeStart: pad, count: 64)
        try PBKDF2Setup.writeKey(secret, .sha256, into: &key)
        for word in 0..<8 {
            unsafe inner[word] = Self.initial[word]
            unsafe outer[word] = Self.initial[word]
        }
        for index in 0..<64 { unsafe pad[index] ^= 0x36 }
        unsafe csha2_compress(inner, pad)
        for index in 0..<64 { unsafe pad[index] ^= 0x36 ^ 0x5c }
        unsafe csha2_compress(outer, pad)
    }

    /// Computes the first U value for block `number`, which is the HMAC of the salt and the number.
    func begin(
        _ lane: Int, with mac: inout HMACContext, salt: Span<UInt8>, number: Int
    ) throws(CofferError) {
        var tag = unsafe MutableSpan<UInt8>(_unsafeStart: pad, count: 32)
        try PBKDF2Setup.writeFirst(number, with: &mac, salt: salt, into: &tag)
        for word in 0..<8 {
            let value = unsafe UnsafeRawPointer(pad).load(fromByteOffset: 4 * word, as: UInt32.self)
            unsafe last[8 * lane + word] = UInt32(bigEndian: value)
            unsafe total[8 * lane + word] = UInt32(bigEndian: value)
        }
    }

    /// Computes all rounds after the first.
    func run(blocks: Int, rounds: UInt32) {
        unsafe csha2_pbkdf2_rounds(inner, outer, last, total, UInt32(blocks), rounds)
    }

    /// Writes the derived block, or as much of it as fits, to `output`.
    func copy(_ lane: Int, to output: inout MutableSpan<UInt8>, at offset: Int) {
        for word in 0..<8 { unsafe total[8 * lane + word] = total[8 * lane + word].bigEndian }
        let count = min(32, output.count - offset)
        let bytes = unsafe Span<UInt8>(_unsafeStart: storage.start + 128 + 32 * lane, count: count)
        output.write(bytes, at: offset)
    }
}
