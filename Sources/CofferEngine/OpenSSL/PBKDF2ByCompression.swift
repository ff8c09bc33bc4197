package import CofferBase
import COpenSSL

/// PBKDF2-HMAC with OpenSSL's bare compression functions. The states after the HMAC key's pads are computed
/// once, and each round requires two compressions and no other calls.
///
/// OpenSSL's HMAC computes the first U value of each block. All secrets are in guarded memory.
package enum PBKDF2ByCompression {
    /// Derives a key and writes it to `output`. Requires at least one round and one byte of output.
    package static func derive(
        secret: Span<UInt8>, salt: Span<UInt8>, rounds: Int, digest: DigestAlgorithm,
        into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        switch digest {
        case .sha1: try run(try HashChain<SHA1Core>.make(digest, secret), secret, salt, rounds, &output)
        case .sha224, .sha256:
            try run(try HashChain<SHA256Core>.make(digest, secret), secret, salt, rounds, &output)
        case .sha384, .sha512:
            try run(try HashChain<SHA512Core>.make(digest, secret), secret, salt, rounds, &output)
        }
    }

    private static func run<Core: HashCore>(
        _ chain: HashChain<Core>, _ secret: Span<UInt8>, _ salt: Span<UInt8>, _ rounds: Int,
        _ output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        let size = chain.digest.size
        var mac = try HMACContext.make(key: secret, digest: chain.digest)
        for offset in stride(from: 0, to: output.count, by: size) {
            try chain.begin(offset / size + 1, with: &mac, salt: salt)
            chain.run(rounds: rounds - 1)
            chain.copy(to: &output, at: offset)
        }
    }
}

/// A hash function in OpenSSL without its padding. Its context begins with the words of its state.
private protocol HashCore {
    associatedtype Word: FixedWidthInteger
    static var blockSize: Int { get }
    /// Writes the digest's initial state to `context`.
    static func begin(_ context: UnsafeMutableRawPointer, _ digest: DigestAlgorithm)
    /// Compresses one block into the state in `context`.
    static func compress(_ context: UnsafeMutableRawPointer, _ block: UnsafePointer<UInt8>)
}

private enum SHA1Core: HashCore {
    typealias Word = UInt32
    static let blockSize = 64

    static func begin(_ context: UnsafeMutableRawPointer, _ digest: DigestAlgorithm) {
        unsafe SHA1_Init(context.assumingMemoryBound(to: SHA_CTX.self))
    }

    static func compress(_ context: UnsafeMutableRawPointer, _ block: UnsafePointer<UInt8>) {
        unsafe SHA1_Transform(context.assumingMemoryBound(to: SHA_CTX.self), block)
    }
}

private enum SHA256Core: HashCore {
    typealias Word = UInt32
    static let blockSize = 64

    static func begin(_ context: UnsafeMutableRawPointer, _ digest: DigestAlgorithm) {
        let context = unsafe context.assumingMemoryBound(to: SHA256_CTX.self)
        _ = unsafe digest == .sha224 ? SHA224_Init(context) : SHA256_Init(context)
    }

    static func compress(_ context: UnsafeMutableRawPointer, _ block: UnsafePointer<UInt8>) {
        unsafe SHA256_Transform(context.assumingMemoryBound(to: SHA256_CTX.self), block)
    }
}

private enum SHA512Core: HashCore {
    typealias Word = UInt64
    static let blockSize = 128

    static func begin(_ context: UnsafeMutableRawPointer, _ digest: DigestAlgorithm) {
        let context = unsafe context.assumingMemoryBound(to: SHA512_CTX.self)
        _ = unsafe digest == .sha384 ? SHA384_Init(context) : SHA512_Init(context)
    }

    static func compress(_ context: UnsafeMutableRawPointer, _ block: UnsafePointer<UInt8>) {
        unsafe SHA512_Transform(context.assumingMemoryBound(to: SHA512_CTX.self), block)
    }
}

/// The working memory for the rounds.
@safe private final class HashChain<Core: HashCore> {
    typealias Words = UnsafeMutablePointer<Core.Word>

    let digest: DigestAlgorithm
    private let storage: GuardedStorage
    /// The library's context, which begins with the state.
    private let state: Words
    /// The hash states after the key's two pads have been compressed.
    private let inner: Words
    private let outer: Words
    /// The exclusive OR of the U values from all rounds so far.
    private let total: Words
    /// A digest with its padding, which is the input to every compression after the first two.
    private let block: Words

    /// The maximum number of words in a state.
    private static var stateWords: Int { 8 }

    private init(_ digest: DigestAlgorithm, _ storage: GuardedStorage) {
        self.digest = digest
        self.storage = storage
        let size = MemoryLayout<Core.Word>.size
        let words = unsafe UnsafeMutableRawPointer(storage.start).bindMemory(
            to: Core.Word.self, capacity: storage.count / size)
        unsafe state = words
        unsafe inner = words + 256 / size
        unsafe outer = words + 320 / size
        unsafe total = words + 384 / size
        unsafe block = words + 448 / size
    }

    static func make(_ digest: DigestAlgorithm, _ secret: Span<UInt8>) throws(CofferError) -> HashChain {
        let chain = HashChain(digest, try GuardedStorage.make(count: 448 + 128))
        let bytes = unsafe UnsafeMutableRawPointer(chain.block).assumingMemoryBound(to: UInt8.self)
        var key = unsafe MutableSpan<UInt8>(_unsafeStart: bytes, count: Core.blockSize)
        try PBKDF2Setup.writeKey(secret, digest, into: &key)
        for index in 0..<Core.blockSize { unsafe bytes[index] ^= 0x36 }
        unsafe chain.start(chain.inner, with: bytes)
        for index in 0..<Core.blockSize { unsafe bytes[index] ^= 0x36 ^ 0x5c }
        unsafe chain.start(chain.outer, with: bytes)
        unsafe chain.writePadding(bytes)
        return chain
    }

    /// Compresses the block `pad` and writes the resulting state to `target`.
    private func start(_ target: Words, with pad: UnsafeMutablePointer<UInt8>) {
        unsafe Core.begin(state, digest)
        unsafe Core.compress(state, pad)
        unsafe target.update(from: state, count: Self.stateWords)
    }

    /// Pads the block that holds a digest and follows the key's block (FIPS 180-4 section 5.1).
    private func writePadding(_ bytes: UnsafeMutablePointer<UInt8>) {
        for index in digest.size..<Core.blockSize { unsafe bytes[index] = 0 }
        unsafe bytes[digest.size] = 0x80
        let bits = 8 * (Core.blockSize + digest.size)
        unsafe bytes[Core.blockSize - 2] = UInt8(truncatingIfNeeded: bits >> 8)
        unsafe bytes[Core.blockSize - 1] = UInt8(truncatingIfNeeded: bits)
    }

    /// Computes the first U value for block `number`.
    func begin(_ number: Int, with mac: inout HMACContext, salt: Span<UInt8>) throws(CofferError) {
        let bytes = unsafe UnsafeMutableRawPointer(block).assumingMemoryBound(to: UInt8.self)
        var first = unsafe MutableSpan<UInt8>(_unsafeStart: bytes, count: digest.size)
        try PBKDF2Setup.writeFirst(number, with: &mac, salt: salt, into: &first)
        for word in 0..<words { unsafe total[word] = block[word] }
    }

    /// Computes all rounds after the first.
    func run(rounds: Int) {
        for _ in 0..<rounds {
            unsafe compress(from: inner)
            unsafe compress(from: outer)
            for word in 0..<words { unsafe total[word] ^= block[word] }
        }
    }

    /// Replaces the digest in the block with the digest of that block, computed from the state `start`.
    @inline(__always) private func compress(from start: Words) {
        unsafe state.update(from: start, count: Self.stateWords)
        unsafe Core.compress(state, UnsafeRawPointer(block).assumingMemoryBound(to: UInt8.self))
        for word in 0..<words { unsafe block[word] = state[word].bigEndian }
    }

    /// Writes the derived block, or as much of it as fits, to `output`.
    func copy(to output: inout MutableSpan<UInt8>, at offset: Int) {
        let count = min(digest.size, output.count - offset)
        let start = unsafe UnsafeRawPointer(total).assumingMemoryBound(to: UInt8.self)
        output.write(unsafe Span<UInt8>(_unsafeStart: start, count: count), at: offset)
    }

    private var words: Int { digest.size / MemoryLayout<Core.Word>.size }
}
