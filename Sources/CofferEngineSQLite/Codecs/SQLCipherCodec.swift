import CofferEngine

/// The page format of SQLCipher 3 and 4: AES-256-CBC without padding, then HMAC over the ciphertext, the IV
/// and the page number. Page 1 begins with the salt, or with SQLCipher's plaintext header.
final class SQLCipherCodec: PageCodec {
    private static let ivSize = 16
    private let encryption: BlockCipher
    private let decryption: BlockCipher
    private let mac: PageMAC
    private let macSize: Int
    /// A buffer for the page number, followed by a computed tag.
    private let work = Scratch(count: 4 + 64)

    init?(_ format: CodecFormat, pageSize: Int, keys: DerivedKeys, plaintextHeader: Int) {
        let digest = format == .sqlcipher3 ? "SHA1" : "SHA512"
        guard let encryption = keys.withEncryptionKey({ BlockCipher(.cbcEncryption, key: $0) }),
            let decryption = keys.withEncryptionKey({ BlockCipher(.cbcDecryption, key: $0) }),
            let mac = keys.withAuthenticationKey({ PageMAC(digest, size: format.macSize, key: $0) }),
            let seal = JournalSeal(keys: keys)
        else { return nil }
        self.encryption = encryption
        self.decryption = decryption
        self.mac = mac
        macSize = format.macSize
        super.init(
            pageSize: pageSize, reserve: format.reserve, identity: keys.identity,
            plaintextHeader: plaintextHeader, journalSeal: seal)
    }

    private var tailOffset: Int { pageSize - reserve }

    private func tag(of page: SharedMemoryRegion, from first: Int, number: UInt32) -> SharedMemoryRegion? {
        let position = work.region.part(0, 4)
        position.setLittleEndian32(number, at: 0)
        let tag = work.region.part(4, macSize)
        let body = page.part(first, tailOffset + Self.ivSize - first)
        return mac.authenticate(body, number: position, tag: tag) ? tag : nil
    }

    override func opened(_ page: SharedMemoryRegion, from first: Int, number: UInt32) -> Bool {
        guard first < tailOffset, let tag = tag(of: page, from: first, number: number),
            PageMAC.equal(tag, page.part(tailOffset + Self.ivSize, macSize)),
            decryption.start(iv: page.part(tailOffset, Self.ivSize))
        else { return false }
        let body = page.part(first, tailOffset - first)
        return decryption.run(body, into: body)
    }

    override func sealed(
        _ page: SharedMemoryRegion, from first: Int, number: UInt32, into output: SharedMemoryRegion
    ) -> Bool {
        guard first < tailOffset else { return false }
        let tail = output.part(tailOffset, reserve)
        let size = tailOffset - first
        guard SystemRandom.fill(tail.part(0, Self.ivSize)), encryption.start(iv: tail.part(0, Self.ivSize)),
            encryption.run(page.part(first, size), into: output.part(first, size)),
            let tag = tag(of: output, from: first, number: number)
        else { return false }
        tail.copy(tag, at: Self.ivSize)
        return true
    }
}
