package import CofferBase
package import CofferCrypto

/// The values derived from a passcode and the device key to evaluate the passcode. The values alone do not
/// reveal whether the passcode is right.
package final class DerivedPasscode: Sendable {
    /// The derivation parameters.
    package let parameters: Keybag.PasscodeParameters
    /// A tag that depends only on the passcode, the parameters and the device key. Each guess at the passcode
    /// still requires a full Argon2id derivation, so the tag does not help an attacker.
    package let tag: [UInt8]
    /// The key that unwraps the class keys if the passcode is right.
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
