public import CofferBase
import CofferCrypto
public import FoundationEssentials

/// What an administrator can tell of an order without the vault that it is for.
extension SignedCommand {
    /// Checks the signature, the counter's limits and the time; neither whom the order is for, nor whether it
    /// was taken before.
    ///
    /// - Parameters:
    ///   - keys: The keys that may have signed it.
    ///   - date: When it is to be valid.
    /// - Throws: `orderUnknownKey`, `orderBadSignature`, `orderCounterOutOfRange`, `orderNotYetValid`,
    ///   `orderExpired`.
    public func check(signedBy keys: [AdministratorKey], at date: Date = Date()) throws(CofferError) {
        let device: DeviceID? =
            switch content.target {
            case .vault: nil
            case .device(let id): id
            }
        let vault: UUID =
            switch content.target {
            case .vault(let id): id
            case .device: UUID()
            }
        let rules = CommandVerifier(
            keys: keys, vaultID: vault, deviceID: device, lastOrder: 0, lastContact: 0,
            now: OrderEncoding.seconds(date) ?? 0)
        _ = try rules.verify(self)
    }

    /// Whether a receipt, as JSON, is that of this order: it names the order's digest, the order is one to
    /// wipe, of that scope, and where it is for one whole vault, it is for the receipt's.
    ///
    /// Nothing vouches for a receipt but where it comes from: the keys that could are destroyed.
    ///
    /// - Parameter receipt: `receipt.json` of the home, or what `coffer wipe --json` printed.
    /// - Returns: Whether it is.
    /// - Throws: `invalidInput` when these bytes are no receipt.
    public func isNamed(inReceipt receipt: [UInt8]) throws(CofferError) -> Bool {
        guard let named = try? JSONDecoder().decode(Named.self, from: Data(receipt)) else {
            throw CofferError(.invalidInput, "These bytes are no receipt of a wipe.")
        }
        guard case .wipe(let scope) = content.action, named.orderDigest == digest, named.scope == scope.name
        else { return false }
        // The receipt of a namespace bears the id of the user's own vault.
        if case .user = scope { return true }
        if case .vault(let id) = content.target { return id == named.vaultID }
        return true
    }

    private struct Named: Decodable {
        let vaultID: UUID
        let scope: String
        let orderDigest: String?
    }
}
