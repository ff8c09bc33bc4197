package import CofferBase
import CofferEngine
public import FoundationEssentials

/// A vault's identifier: a random RFC 4122 version 4 UUID, stored in the vault's device record.
///
/// The keys and records of a vault are bound to its identifier, so data from one vault is never accepted in
/// another.
public struct VaultID: Sendable, Hashable, CustomStringConvertible {
    /// The identifier as a UUID.
    public let uuid: UUID

    /// The UUID as text: 36 characters, in upper case with dashes.
    public var description: String { uuid.uuidString }

    package var bytes: [UInt8] { uuid.bytes }

    package static func random() throws(CofferError) -> VaultID { VaultID(uuid: try .secureRandom()) }

    package init(uuid: UUID) { self.uuid = uuid }

    package init?(bytes: [UInt8]) {
        guard let uuid = UUID(bytes: bytes) else { return nil }
        self.uuid = uuid
    }
}

extension UUID {
    /// Returns a new version 4 UUID from the random generator that also generates keys.
    package static func secureRandom() throws(CofferError) -> UUID {
        var bytes = try SecureRandom.bytes(16)
        bytes[6] = bytes[6] & 0x0f | 0x40
        bytes[8] = bytes[8] & 0x3f | 0x80
        guard let uuid = UUID(bytes: bytes) else {
            throw CofferError(.internalFailure, "The random bytes do not form a UUID.")
        }
        return uuid
    }

    package init?(bytes b: [UInt8]) {
        guard b.count == 16 else { return nil }
        self.init(
            uuid: (
                b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
                b[15]
            ))
    }

    package var bytes: [UInt8] {
        let u = uuid
        return [
            u.0, u.1, u.2, u.3, u.4, u.5, u.6, u.7, u.8, u.9, u.10, u.11, u.12, u.13, u.14, u.15,
        ]
    }
}
