/// How the pages of a database are encrypted.
package enum CodecFormat: String, Sendable, CaseIterable {
    /// AES-256-GCM with 24-byte nonces.
    case gcm1
    /// SQLCipher 4 with its defaults.
    case sqlcipher4
    /// SQLCipher 3 with its defaults, to read only.
    case sqlcipher3

    package var isReadOnly: Bool { self == .sqlcipher3 }

    package var pageSize: Int { self == .sqlcipher3 ? 1024 : 4096 }

    /// The bytes at the end of each page; `gcm1` may have more in a file that another format came to.
    package var reserve: Int {
        switch self {
        case .gcm1: GCMCodec.leastReserve
        case .sqlcipher4: 80
        case .sqlcipher3: 48
        }
    }

    var macSize: Int { self == .sqlcipher3 ? 20 : 64 }

    /// The salt's size: what of page 1's clear bytes is random.
    package static let saltSize = 16

    /// Whether a salt can be one of a database's: `gcm1` has had smaller ones.
    package func takesSalt(_ salt: [UInt8]) -> Bool {
        salt.count == Self.saltSize || self == .gcm1 && salt.count == GCMHeader.firstSaltSize
    }
}
