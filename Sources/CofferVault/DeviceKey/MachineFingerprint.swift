package import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// A fingerprint of the machine and the user that created a vault: an application-specific HMAC of the user
/// id under the machine id, as machine-id(5) requires. The authenticated keybag stores the fingerprint, and
/// the `doctor` command reports a mismatch. No key is derived from the fingerprint, because a machine id can
/// change, as in containers, and a change must not make any key unusable.
package enum MachineFingerprint {
    package static let size = 32
    /// The fingerprint on a machine that has no machine id: 32 zero bytes.
    package static let unknown = [UInt8](repeating: 0, count: size)

    package static func current() throws(CofferError) -> [UInt8] {
        guard let identity = machineIdentity() else { return unknown }
        let key = try SymmetricKey.copying(identity.span)
        let message = Array(KDFLabel.hostBinding.utf8) + Environment.userID.bigEndianBytes
        return try HMAC.authenticate(message.span, key: key)
    }

    /// Returns the machine id, which may be used only as a key and must never be shown; `nil` if there is
    /// none.
    package static func machineIdentity() -> [UInt8]? {
        guard let file = try? Descriptor.open("/etc/machine-id", .read),
            let identity = try? file.readAll(limit: 64), identity.count >= 32
        else { return nil }
        return identity
    }
}
