package import CofferBase
package import CofferCrypto

/// A passcode after its derivation, with everything that its evaluation needs. Nothing here shows whether it
/// is right.
package final class DerivedPasscode: Sendable {
    /// The parameters of the derivation.
    package let parameters: Keybag.PasscodeParameters
    /// Equal for the same passcode and salt. Its key costs a full Argon2id derivation, so it is no shortcut
    /// for an attacker who guesses.
    package let tag: [UInt8]
    /// Unwraps the class keys if the passcode is right.
    package let wrappingKey: SymmetricKey

    package init(
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
