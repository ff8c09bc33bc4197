package import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// A fingerprint of the machine and the user that made a vault: an application-specific HMAC of the machine
/// id (as machine-id(5) asks for) and the user id. It is kept in the authenticated keybag and reported by
/// `doctor`. It is never key material, because a machine id that changes, as in containers, must not cost the
/// user the keys.
package enum MachineFingerprint {
    package static let size = 32
    /// The value for a machine without an identity.
    package static let unknown = [UInt8](repeating: 0, count: size)

    package static func current() throws(CofferError) -> [UInt8] {
        guard let identity = machineIdentity() else { return unknown }
        let key = try SymmetricKey.copying(identity.span)
        let message = Array(KDFLabel.hostBinding.utf8) + Environment.userID.bigEndianBytes
        return try HMAC.authenticate(message.span, key: key)
    }

    /// The machine id, to be used only as a key and never shown; `nil` if there is none.
    package static func machineIdentity() -> [UInt8]? {
        guard let file = try? Descriptor.open("/etc/machine-id", .read),
            let identity = try? file.readAll(limit: 64), identity.count >= 32
        else { return nil }
        return identity
    }
}
