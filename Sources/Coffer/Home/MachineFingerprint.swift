import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// A fingerprint of the machine and the user that made a vault: an application-specific HMAC of the machine
/// id (as machine-id(5) asks for) and the user id. Kept in the authenticated keybag, reported by `doctor`,
/// never key material: a machine id that changes, as it does in containers, must not lose anybody's keys.
enum MachineFingerprint {
    static let size = 32
    /// What stands where the machine has no identity.
    static let unknown = [UInt8](repeating: 0, count: size)

    static func current() throws(CofferError) -> [UInt8] {
        guard let identity = machineIdentity() else { return unknown }
        let key = try SymmetricKey.copying(identity.span)
        let message = Array(KDFLabel.hostBinding.utf8) + Environment.userID.bigEndianBytes
        return try HMAC.authenticate(message.span, key: key)
    }

    /// The machine id, which is to be used as a key and shown to nobody; `nil` where there is none.
    static func machineIdentity() -> [UInt8]? {
        guard let file = try? Descriptor.open("/etc/machine-id", .read),
            let identity = try? file.readAll(limit: 64), identity.count >= 32
        else { return nil }
        return identity
    }
}
