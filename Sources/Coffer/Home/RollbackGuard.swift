import CofferBase
import CofferCrypto

/// The generation of the attempt counter, kept beside the device key in the Secret Service.
///
/// A copy of the home that is put back has an older counter than the service remembers, and is refused:
/// guessing on it would not be counted. It is written after the counter and before a passcode is evaluated,
/// so that the counter is never behind unless it was put back.
struct RollbackGuard {
    /// What the item is called in the keyring of the device key.
    private static let itemName = [UInt8](repeating: 1, count: 32)
    private static let tagSize = 32

    private let keyring: SecretServiceStorage
    private let device: DeviceKey

    init(device: DeviceKey, client: SecretServiceClient) throws(CofferError) {
        keyring = try SecretServiceStorage(deviceKeyOf: device.vaultID, client: client)
        self.device = device
    }

    /// Refuses a counter that is older than the service remembers.
    func verify(_ generation: UInt64) throws(CofferError) {
        guard let remembered = try read(), generation < remembered else { return }
        throw CofferError(
            .rolledBack,
            "The home, or its attempt counter, is an older copy: the Secret Service remembers a newer "
                + "one. Nothing was tried.")
    }

    /// Remembers a generation that is on the disk.
    func record(_ generation: UInt64) throws(CofferError) {
        let number = generation.bigEndianBytes
        let tag = try HMAC.authenticate(number.span, key: device.key(KDFLabel.attemptWitness))
        try keyring.put(number + tag, for: Self.itemName)
    }

    /// `nil` before the first attempt.
    private func read() throws(CofferError) -> UInt64? {
        guard let value = try keyring.envelope(Self.itemName) else { return nil }
        let key = try device.key(KDFLabel.attemptWitness)
        guard value.count == 8 + Self.tagSize,
            try HMAC.isValid(value.span.extracting(8...), for: value.span.extracting(..<8), key: key)
        else {
            throw CofferError(
                .corrupt,
                "What the Secret Service remembers of the attempt counter is damaged. Nothing was tried. Put "
                    + "back a copy of the keyring from a backup.")
        }
        return value.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
}
