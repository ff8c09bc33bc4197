/// The format in which a database's pages are encrypted.
package enum CodecFormat: String, Sendable, CaseIterable {
    /// AES-256-GCM with 24-byte nonces.
    case gcm1
    /// SQLCipher 4's default page format.
    case sqlcipher4
    /// SQLCipher 3's default page format, read-only.
    case sqlcipher3

    package var isReadOnly: Bool { self == .sqlcipher3 }

    package var pageSize: Int { self == .sqlcipher3 ? 1024 : 4096 }

    /// The number of bytes reserved at the end of each page. A `gcm1` file that was converted from another
    /// format may reserve more.
    package var reserve: Int {
        switch self {
        case .gcm1: GCMCodec.leastReserve
        case .sqlcipher4: 80
        case .sqlcipher3: 48
        }
    }

    var macSize: Int { self == .sqlcipher3 ? 20 : 64 }

    /// The size in bytes of the salt, which is the random part of page 1's plaintext bytes.
    package static let saltSize = 16

    /// Reports whether the format accepts a salt of this size. `gcm1` also accepts the 6-byte salts of its
    /// first header version.
    package func takesSalt(_ salt: [UInt8]) -> Bool {
        salt.count == Self.saltSize || self == .gcm1 && salt.count == GCMHeader.firstSaltSize
    }
}
