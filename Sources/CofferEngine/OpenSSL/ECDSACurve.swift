/// A curve for ECDSA, with the hash function that FIPS 186-5 pairs with it.
package struct ECDSACurve: Sendable {
    /// The curve's name in OpenSSL's parameters.
    let name: StaticString
    /// OpenSSL's number of the curve.
    let number: Int32
    /// The hash function of signatures.
    let digest: SignatureDigest
    /// The order of the curve's group, with the highest byte first.
    let order: [UInt8]

    /// The size in bytes of a private key, and of each of the two numbers of a signature.
    package var privateKeySize: Int { order.count }
    /// The size in bytes of an uncompressed point.
    package var publicKeySize: Int { 2 * order.count + 1 }
    /// The size in bytes of a signature.
    package var signatureSize: Int { 2 * order.count }

    /// P-256 with SHA-256; the number is the value of `NID_X9_62_prime256v1`.
    package static let p256 = ECDSACurve(
        name: "P-256", number: 415, digest: .sha256,
        order: [
            0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
            0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
        ])

    /// P-384 with SHA-384; the number is the value of `NID_secp384r1`.
    package static let p384 = ECDSACurve(
        name: "P-384", number: 715, digest: .sha384,
        order: [
            0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
            0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xC7, 0x63, 0x4D, 0x81, 0xF4, 0x37, 0x2D, 0xDF,
            0x58, 0x1A, 0x0D, 0xB2, 0x48, 0xB0, 0xA7, 0x7A, 0xEC, 0xEC, 0x19, 0x6A, 0xCC, 0xC5, 0x29, 0x73,
        ])
}
