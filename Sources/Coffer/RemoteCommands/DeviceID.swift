public import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault

/// A machine's identity, to which an administrator can address commands for every vault on the machine. The
/// identity consists of 16 bytes of an application-specific HMAC of the machine id, as machine-id(5)
/// recommends.
///
/// Machines that were cloned without receiving a new machine id have the same identity.
public struct DeviceID: Sendable, Hashable, CustomStringConvertible {
    static let size = 16

    /// The 16 bytes of the identity.
    public let bytes: [UInt8]

    /// Creates an identity from its bytes.
    ///
    /// - Throws: `invalidInput` unless there are exactly 16 bytes.
    public init(_ bytes: [UInt8]) throws(CofferError) {
        guard bytes.count == Self.size else {
            throw CofferError(
                .invalidInput, "A device id must be \(Self.size) bytes long, not \(bytes.count).")
        }
        self.bytes = bytes
    }

    /// Creates an identity from 32 hexadecimal digits.
    ///
    /// - Throws: `invalidInput` if the text does not consist of exactly 32 hexadecimal digits.
    public init(hex text: String) throws(CofferError) {
        guard let bytes = HexText.decode(text), bytes.count == Self.size else {
            throw CofferError(
                .invalidInput, "A device id must consist of \(2 * Self.size) hexadecimal digits.")
        }
        self.bytes = bytes
    }

    /// The identity as 32 hexadecimal digits.
    public var description: String { HexText.encode(bytes) }

    /// Returns this machine's identity; `nil` if the machine has no machine id.
    public static func current() throws(CofferError) -> DeviceID? {
        guard let identity = MachineFingerprint.machineIdentity() else { return nil }
        let key = try SymmetricKey.copying(identity.span)
        let tag = try HMAC.authenticate(Array(KDFLabel.deviceID.utf8).span, key: key)
        return try DeviceID(Array(tag.prefix(size)))
    }
}
