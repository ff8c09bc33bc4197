import CofferEngine

/// The codec for the format `gcm1`: AES-256-GCM with XAES-256-GCM's 24-byte nonces.
///
/// A page ends with the nonce (24), the tag (16) and zeros up to the end of the reserve. The first half of
/// the nonce selects the key. Each open file that is written to draws its own first half, and draws another
/// after 2^32 pages. The second half comes from the kernel at each write, so a forked process or a copy of
/// the machine uses a different one. The associated data is the page number, the database's ID, the header
/// version and, on page 1, the plaintext bytes.
@safe final class GCMCodec: PageCodec {
    /// The smallest reserve: the nonce (24), the tag (16) and 8 zeros.
    static let leastReserve = 48

    private static let prefixSize = 12
    private static let nonceSize = 24
    private static let tagSize = 16
    private static let cacheSize = 16

    private let derivation: ExtendedNonceKeys
    /// The first half of this writer's nonces, drawn at the first write and again after 2^32 pages.
    private let ownPrefix = Scratch(count: prefixSize)
    private var own: PageCipher?
    private var ownWrites: UInt32 = 0
    private var cache: [(low: UInt64, high: UInt32, cipher: PageCipher)] = []
    private var oldest = 0
    /// The cipher that opened the last page, which is in ``cache``, and its nonce prefix. The next page is
    /// mostly from the same writer, and counting references for each page would take time.
    private var last: Unmanaged<PageCipher>?
    private var (lastLow, lastHigh) = (UInt64(0), UInt32(0))
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

    @inline(__always)
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
            let cipher = unsafe cipher(for: tail.part(0, Self.prefixSize))
        else { return false }
        let (nonce, tag) = (
            tail.part(Self.prefixSize, Self.prefixSize), tail.part(Self.nonceSize, Self.tagSize)
        )
        let data = associatedData(number)
        let body = page.part(first, pageSize - reserve - first)
        var bodySpan = body.mutableSpan
        let (nonceSpan, tagSpan, dataSpan) = (nonce.span, tag.span, data.span)
        return unsafe cipher._withUnsafeGuaranteedRef {
            $0.open(&bodySpan, tag: tagSpan, nonce: nonceSpan, associatedData: dataSpan)
        }
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
        let (body, target) = (page.part(first, size), output.part(first, size))
        let (nonce, tag) = (
            tail.part(Self.prefixSize, Self.prefixSize), tail.part(Self.nonceSize, Self.tagSize)
        )
        let data = associatedData(number)
        let (bodySpan, nonceSpan, dataSpan) = (body.span, nonce.span, data.span)
        var targetSpan = target.mutableSpan
        var tagSpan = tag.mutableSpan
        return cipher.seal(
            bodySpan, nonce: nonceSpan, associatedData: dataSpan, into: &targetSpan, tag: &tagSpan)
    }

    /// Returns the cipher for the pages that this writer seals. Draws another nonce prefix after 2^32 pages.
    private func ownCipher() -> PageCipher? {
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

    /// Returns the cipher that the first half of a nonce selects. It exists until this function is called
    /// again.
    @inline(__always)
    private func cipher(for prefix: SharedMemoryRegion) -> Unmanaged<PageCipher>? {
        let low = UInt64(prefix.littleEndian32(0)) | UInt64(prefix.littleEndian32(4)) << 32
        let high = prefix.littleEndian32(8)
        if lastLow == low, lastHigh == high, let last = unsafe last { return unsafe last }
        return unsafe cached(low, high, prefix)
    }

    /// Finds or derives the cipher for a prefix, caches it for further pages from the same writer, and makes
    /// it the last one.
    private func cached(_ low: UInt64, _ high: UInt32, _ prefix: SharedMemoryRegion)
        -> Unmanaged<PageCipher>?
    {
        let known = cache.first { $0.low == low && $0.high == high }
        guard let cipher = known?.cipher ?? derivation.cipher(prefix: prefix) else { return nil }
        if known == nil {
            if cache.count < Self.cacheSize {
                cache.append((low, high, cipher))
            } else {
                cache[oldest] = (low, high, cipher)
                oldest = (oldest + 1) % Self.cacheSize
            }
        }
        let found = unsafe Unmanaged.passUnretained(cipher)
        unsafe (last, lastLow, lastHigh) = (found, low, high)
        return unsafe found
    }
}

/// The key derivation of XAES-256-GCM, which derives one cipher for each nonce prefix.
private final class ExtendedNonceKeys {
    private var extended: XAESCipher

    init?(key: Span<UInt8>) {
        guard let extended = try? XAESCipher.make(key: key) else { return nil }
        self.extended = extended
    }

    func cipher(prefix: SharedMemoryRegion) -> PageCipher? {
        let prefix = prefix.span
        guard let cipher = try? extended.derived(prefix: prefix) else { return nil }
        return PageCipher(cipher)
    }
}
