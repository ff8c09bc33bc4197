import CofferEngine

/// Object identifiers of PKCS #5, #7, #8, #9 and #12, as the contents of their elements.
enum KeyFileOID {
    private static let pkcs: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01]
    private static let aes: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01]
    private static let hashes: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02]
    private static let hmac: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x02]

    static let data = pkcs + [7, 1]
    static let encryptedData = pkcs + [7, 6]
    static let keyBag = bag(1)
    static let encryptedKeyBag = bag(2)
    static let certificateBag = bag(3)
    static let revocationBag = bag(4)
    static let secretBag = bag(5)
    static let nestedBag = bag(6)
    static let x509Certificate = pkcs + [9, 22, 1]
    static let friendlyName = pkcs + [9, 20]
    static let localKeyID = pkcs + [9, 21]
    static let pbes2 = pkcs + [5, 13]
    static let pbkdf2 = pkcs + [5, 12]
    static let hmacSHA256 = hmac + [9]
    static let sha256 = hashes + [1]
    static let aes256 = aes + [42]

    private static func bag(_ number: UInt8) -> [UInt8] { pkcs + [12, 10, 1, number] }

    /// The ciphers of PKCS #12 with SHA-1.
    static let pkcs12Ciphers: [(oid: [UInt8], cipher: PassphraseCipher)] = [
        (pkcs + [12, 1, 3], .tripleDES), (pkcs + [12, 1, 4], .twoKeyTripleDES),
        (pkcs + [12, 1, 5], .rc2With128Bits), (pkcs + [12, 1, 6], .rc2With40Bits),
    ]
    /// The ciphers of PKCS #5, version 2.
    static let pbes2Ciphers: [(oid: [UInt8], cipher: PassphraseCipher)] = [
        (aes + [2], .aes128), (aes + [22], .aes192), (aes256, .aes256),
        ([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x03, 7], .tripleDES),
    ]
    /// The pseudo-random functions of PBKDF2.
    static let pseudoRandom: [(oid: [UInt8], digest: Digest)] = [
        (hmac + [7], .sha1), (hmac + [8], .sha224), (hmacSHA256, .sha256), (hmac + [10], .sha384),
        (hmac + [11], .sha512),
    ]
    /// The hash functions of a PKCS #12 file's authentication.
    static let digests: [(oid: [UInt8], digest: Digest)] = [
        ([0x2B, 0x0E, 0x03, 0x02, 0x1A], .sha1), (hashes + [4], .sha224), (sha256, .sha256),
        (hashes + [2], .sha384), (hashes + [3], .sha512),
    ]
}
