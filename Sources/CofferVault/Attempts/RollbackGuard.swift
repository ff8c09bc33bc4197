package import CofferBase
import CofferCrypto

/// The generation of the attempt counter, kept beside the device key in the Secret Service.
///
/// A restored copy of the vault directory has an older counter than the service remembers and is refused,
/// because guesses against it would not be counted. The generation is written after the counter and before a
/// passcode is evaluated, so the counter is behind only if an older one was restored.
package struct RollbackGuard {
    /// The name of the item, beside that of the device key.
    private static let itemName = [UInt8](repeating: 1, count: 32)
    private static let tagSize = 32

    private let keyring: SecretServiceStorage
    private let device: DeviceKey

    package init(device: DeviceKey, client: SecretServiceClient) throws(CofferError) {
        keyring = try SecretServiceStorage(deviceKeyOf: device.vaultID, client: client)
        self.device = device
    }

    /// Throws `rolledBack` if the counter is older than the generation in the service.
    package func verify(_ generation: UInt64) throws(CofferError) {
        guard let remembered = try read(), generation < remembered else { return }
        throw CofferError(
            .rolledBack,
            "The vault directory, or its attempt counter, is an older copy: the Secret Service has a newer "
                + "counter. The passcode was not tried.")
    }

    /// Stores a generation that is already on the disk.
    package func record(_ generation: UInt64) throws(CofferError) {
        let number = generation.bigEndianBytes
        let tag = try HMAC.authenticate(number.span, key: device.key(KDFLabel.attemptWitness))
        try keyring.put(number + tag, for: Self.itemName)
    }

    /// Returns `nil` before the first attempt.
    private func read() throws(CofferError) -> UInt64? {
        guard let value = try keyring.envelope(Self.itemName) else { return nil }
        let key = try device.key(KDFLabel.attemptWitness)
        guard value.count == 8 + Self.tagSize,
            try HMAC.isValid(value.span.extracting(8...), for: value.span.extracting(..<8), key: key)
        else {
            throw CofferError(
                .corrupt,
                "The attempt counter in the Secret Service is damaged. The passcode was not tried.",
                remedy: .restoreKeyring)
        }
        return value.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
}
