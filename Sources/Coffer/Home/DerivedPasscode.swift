import CofferBase
import CofferCrypto

/// A passcode after its derivation, with all that its evaluation needs. Nothing here says whether it is
/// right.
final class DerivedPasscode: Sendable {
    /// The parameters of the derivation.
    let parameters: Keybag.PasscodeParameters
    /// Equal for the same passcode and salt. It comes from a key that takes the full Argon2id, so it is no
    /// shortcut for who guesses.
    let tag: [UInt8]
    /// Opens the class keys when the passcode is right.
    let wrappingKey: SymmetricKey

    init(
        _ passcode: Passcode, _ parameters: Keybag.PasscodeParameters, device: DeviceKey
    ) throws(CofferError) {
        let derived = try Argon2id.deriveKey(
            secret: passcode.secret, salt: parameters.salt.span, cost: parameters.cost)
        let wrappingKey = try Keybag.wrappingKey(passcode: derived, device: device)
        tag = try Self.tag(of: derived, device: device)
        self.parameters = parameters
        self.wrappingKey = wrappingKey
    }

    private static func tag(
        of derived: borrowing SymmetricKey, device: DeviceKey
    ) throws(CofferError) -> [UInt8] {
        let context = device.vaultID.bytes
        let key = try HKDF.deriveKey(
            from: derived, and: device.deviceKey().key, info: KDFLabel.attemptTag, context: context.span)
        return try HMAC.authenticate(context.span, key: key)
    }
}
