/// The plaintext bytes at the start of a `gcm1` database.
///
/// Both versions begin with the magic (8), the version (1) and the reserve (1). In version 1, a salt (6)
/// follows. In version 2, the cost of deriving the key from a passphrase follows, and then a salt (16). The
/// cost is the number of passes (1), the number of lanes (1) and the memory in KiB (4, big-endian), all zero
/// for a raw key. Every key depends on all bytes after the reserve, and page 1's tag covers all bytes.
struct GCMHeader: Equatable {
    static let magic = Array("COFFERG1".utf8)
    static let versions: ClosedRange<UInt8> = 1...2
    /// The derivation cost in the first version, whose header does not record one.
    static let firstCost = DerivationCost(memoryKiB: 64 << 10, passes: 3)

    let version: UInt8
    let reserve: UInt8
    /// The derivation cost, or `nil` for a raw key and in the first version.
    let cost: DerivationCost?
    let lanes: Int
    let salt: [UInt8]

    /// Creates the header of a new database. A 6-byte salt selects the first version; any other salt selects
    /// the second.
    init(reserve: Int, cost: DerivationCost?, salt: [UInt8]) {
        version = salt.count == Self.firstSaltSize ? 1 : 2
        self.reserve = UInt8(truncatingIfNeeded: reserve)
        self.cost = version == 1 ? nil : cost
        lanes = self.cost == nil ? 0 : 1
        self.salt = salt
    }

    /// Parses the header at the start of `first`. Returns `nil` if there is none, or if its version is
    /// unknown.
    init?(_ first: [UInt8]) {
        guard first.count >= 16, Self.isGCM(first), Self.versions.contains(first[8]) else { return nil }
        version = first[8]
        reserve = first[9]
        guard version > 1 else {
            cost = nil
            lanes = 0
            salt = Array(first[10..<16])
            return
        }
        guard first.count >= 32 else { return nil }
        let memory = first[12..<16].reduce(0) { $0 << 8 | Int($1) }
        cost =
            first[10..<16].allSatisfy { $0 == 0 }
            ? nil : DerivationCost(memoryKiB: memory, passes: Int(first[10]))
        lanes = Int(first[11])
        salt = Array(first[16..<32])
    }

    static let firstSaltSize = 6

    /// Reports whether `first` begins like a `gcm1` database of any version.
    static func isGCM(_ first: [UInt8]) -> Bool { first.starts(with: magic) }

    /// The header's bytes.
    var bytes: [UInt8] {
        var bytes: [UInt8] = Self.magic
        bytes += [version, reserve]
        if version > 1 {
            let memory = cost?.memoryKiB ?? 0
            bytes += [UInt8(truncatingIfNeeded: cost?.passes ?? 0), UInt8(truncatingIfNeeded: lanes)]
            bytes += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: memory >> $0) }
        }
        return bytes + salt
    }

    /// The bytes that the keys depend on. They exclude the magic, the version and the reserve, which page 1's
    /// associated data covers.
    var context: [UInt8] { Array(bytes[10...]) }

    /// The salt with which Argon2id derives the key from a passphrase.
    var derivationSalt: [UInt8] {
        guard version == 1 else { return salt }
        return [0] + Self.magic + [version] + salt
    }
}
