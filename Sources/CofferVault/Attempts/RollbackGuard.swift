package import CofferBase
import CofferCrypto

/// A guard against older attempt counters: a copy of the counter's generation, stored alongside the device
/// key in the Secret Service.
///
/// If the vault directory is restored from an older copy, its counter has a lower generation than the one in
/// the service. The restored directory is refused, because its counter does not include the guesses that were
/// counted after the copy was made. The generation is written to the service after the counter is written to
/// disk and before a passcode is evaluated, so the counter on disk has the lower generation only if an older
/// counter was restored.
package struct RollbackGuard {
    /// The item's name in the device key's namespace.
    private static let itemName = [UInt8](repeating: 1, count: 32)
    private static let tagSize = 32

    private let keyring: SecretServiceStorage
    private let device: DeviceKey

    package init(device: DeviceKey, client: SecretServiceClient) throws(CofferError) {
        keyring = try SecretServiceStorage(deviceKeyOf: device.vaultID, client: client)
        self.device = device
    }

    /// Throws `rolledBack` if the counter's `generation` is lower than the generation in the service.
    package func verify(_ generation: UInt64) throws(CofferError) {
        guard let remembered = try read(), generation < remembered else { return }
        throw CofferError(
            .rolledBack,
            "The passcode was not checked because the vault directory or its attempt counter is an older "
                + "copy: the Secret Service has a newer counter.")
    }

    /// Stores a generation in the service. The counter with that generation must already be on disk.
    package func record(_ generation: UInt64) throws(CofferError) {
        let number = generation.bigEndianBytes
        let tag = try HMAC.authenticate(number.span, key: device.key(KDFLabel.attemptWitness))
        try keyring.put(number + tag, for: Self.itemName)
    }

    /// Returns the generation stored in the service; `nil` before the first attempt.
    private func read() throws(CofferError) -> UInt64? {
        guard let value = try keyring.envelope(Self.itemName) else { return nil }
        let key = try device.key(KDFLabel.attemptWitness)
        guard value.count == 8 + Self.tagSize,
            try HMAC.isValid(value.span.extracting(8...), for: value.span.extracting(..<8), key: key)
        else {
            throw CofferError(
                .corrupt,
                "The passcode was not checked because the attempt counter in the Secret Service is damaged.",
                remedy: .restoreKeyring)
        }
        return value.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
}
