import CofferBase
import CofferEngine

/// The codec for the format `gcm1`: AES-256-GCM with XAES-256-GCM's 24-byte nonces.
///
/// A page ends with the nonce (24), the tag (16) and zeros up to the end of the reserve. The first half of
/// the nonce selects the key. Each open file that is written to draws its own first half, and draws another
/// after 2^32 pages. The second half comes from the kernel at each write, so a forked process or a copy of
/// the machine uses a different one. The associated data is the page number, the database's ID, the header
/// version and, on page 1, the plaintext bytes.
final class GCMCodec: PageCodec {
    /// The smallest reserve: the nonce (24), the tag (16) and 8 zeros.
    static let leastReserve = 48

    private static let prefixSize = 12
    private static let nonceSize = 24
    private static let tagSize = 16
    private static let cacheSize = 16

    private let derivation: ExtendedNonceKeys
    /// The first half of this writer's nonces, drawn at the first write and again after 2^32 pages.
    private let ownPrefix = Scratch(count: prefixSize)
    private var own: EpochCipher?
    private var ownWrites: UInt32 = 0
    private var cache: [(low: UInt64, high: UInt32, cipher: EpochCipher)] = []
    private var oldest = 0
    /// The cipher that opened the last page. The next page is mostly from the same writer.
    private var last: (low: UInt64, high: UInt32, cipher: EpochCipher)?
    /// The associated data: the page number (4), the database's ID (16), the header version (1) and the
    /// plaintext bytes.
    private let associated: Scratch

    init?(pageSize: Int, reserve: Int, keys: DerivedKeys) {
        guard let derivation = keys.withEncryptionKey({ ExtendedNonceKeys(key: $0) }),
            let seal = JournalSeal(keys: keys)
        else { return nil }
        self.derivation = derivation
        associated = Scratch(count: 4 + 16 + 1 + keys.identity.count)
        associated.region.copy(keys.databaseID, at: 4)
        associated.region[20] = keys.identity[8]
        associated.region.copy(keys.identity, at: 21)
        super.init(pageSize: pageSize, reserve: reserve, identity: keys.identity, journalSeal: seal)
        cache.reserveCapacity(Self.cacheSize)
    }

    private func associatedData(_ number: UInt32) -> SharedMemoryRegion {
        associated.region.setBigEndian32(number, at: 0)
        return associated.region.part(0, number == 1 ? 21 + identity.count : 21)
    }

    /// Whether every journal of this database is sealed. Seals were introduced before header version 2, so
    /// all journals of a database with that version are sealed.
    override var sealsEveryJournal: Bool { identity[8] > 1 }

    override func opened(_ page: SharedMemoryRegion, from first: Int, number: UInt32) -> Bool {
        let tail = page.part(pageSize - reserve, reserve)
        guard number != 1 || page.part(0, identity.count).equals(identity),
            tail.part(Self.nonceSize + Self.tagSize, reserve - Self.nonceSize - Self.tagSize).isZero,
            let cipher = cipher(for: tail.part(0, Self.prefixSize))
        else { return false }
        return cipher.open(
            page.part(first, pageSize - reserve - first), nonce: tail.part(Self.prefixSize, Self.prefixSize),
            tag: tail.part(Self.nonceSize, Self.tagSize), associated: associatedData(number))
    }

    override func sealed(
        _ page: SharedMemoryRegion, from first: Int, number: UInt32, into output: SharedMemoryRegion
    ) -> Bool {
        let tail = output.part(pageSize - reserve, reserve)
        let size = pageSize - reserve - first
        tail.zero()
        guard let cipher = ownCipher(), SystemRandom.fill(tail.part(Self.prefixSize, Self.prefixSize)) else {
            return false
        }
        tail.copy(ownPrefix.region)
        return cipher.seal(
            page.part(first, size), into: output.part(first, size),
            nonce: tail.part(Self.prefixSize, Self.prefixSize),
            tag: tail.part(Self.nonceSize, Self.tagSize), associated: associatedData(number))
    }

    /// Returns the cipher for the pages that this writer seals. Draws another nonce prefix after 2^32 pages.
    private func ownCipher() -> EpochCipher? {
        if ownWrites > 0, let own {
            ownWrites &+= 1
            return own
        }
        guard SystemRandom.fill(ownPrefix.region), let cipher = derivation.cipher(prefix: ownPrefix.region)
        else {
            return nil
        }
        own = cipher
        ownWrites = 1
        return cipher
    }

    /// Returns the cipher that the first half of a nonce selects. Caches it for further pages from the same
    /// writer.
    private func cipher(for prefix: SharedMemoryRegion) -> EpochCipher? {
        let low = UInt64(prefix.littleEndian32(0)) | UInt64(prefix.littleEndian32(4)) << 32
        let high = prefix.littleEndian32(8)
        if let last, last.low == low, last.high == high { return last.cipher }
        let cached = cache.first { $0.low == low && $0.high == high }
        guard let cipher = cached?.cipher ?? derivation.cipher(prefix: prefix) else { return nil }
        last = (low, high, cipher)
        guard cached == nil else { return cipher }
        if cache.count < Self.cacheSize {
            cache.append((low, high, cipher))
        } else {
            cache[oldest] = (low, high, cipher)
            oldest = (oldest + 1) % Self.cacheSize
        }
        return cipher
    }
}

/// The key derivation of XAES-256-GCM, which derives one cipher for each nonce prefix.
private final class ExtendedNonceKeys {
    private var extended: XAESCipher

    init?(key: Span<UInt8>) {
        guard let extended = try? XAESCipher.make(key: key) else { return nil }
        self.extended = extended
    }

    func cipher(prefix: SharedMemoryRegion) -> EpochCipher? {
        let prefix = prefix.span
        guard let cipher = try? extended.derived(prefix: prefix) else { return nil }
        return EpochCipher(cipher)
    }
}

/// AES-256-GCM for the pages that share one nonce prefix.
private final class EpochCipher {
    private var cipher: AEADCipher

    init(_ cipher: consuming AEADCipher) { self.cipher = cipher }

    func open(
        _ body: SharedMemoryRegion, nonce: SharedMemoryRegion, tag: SharedMemoryRegion,
        associated: SharedMemoryRegion
    ) -> Bool {
        var bodySpan = body.mutableSpan
        let (nonceSpan, tagSpan, data) = (nonce.span, tag.span, associated.span)
        do throws(CofferError) {
            try cipher.openInPlace(&bodySpan, tag: tagSpan, nonce: nonceSpan, associatedData: data)
            return true
        } catch {
            return false
        }
    }

    func seal(
        _ body: SharedMemoryRegion, into output: SharedMemoryRegion, nonce: SharedMemoryRegion,
        tag: SharedMemoryRegion, associated: SharedMemoryRegion
    ) -> Bool {
        let (bodySpan, nonceSpan, data) = (body.span, nonce.span, associated.span)
        var outputSpan = output.mutableSpan
        var tagSpan = tag.mutableSpan
        do throws(CofferError) {
            try cipher.seal(
                bodySpan, nonce: nonceSpan, associatedData: data, into: &outputSpan, tag: &tagSpan)
            return true
        } catch {
            return false
        }
    }
}
