public import CofferBase
import CofferCrypto
public import FoundationEssentials

/// Checks that an administrator can perform without access to the vault for which a command is intended.
extension SignedCommand {
    /// Checks the signature, the counter's range and the validity period. Checks neither the recipient nor
    /// whether the command was accepted before.
    ///
    /// - Parameters:
    ///   - keys: The keys that may have signed the command.
    ///   - date: The time at which the command must be valid.
    /// - Throws: `orderUnknownKey` if the signer's key is not in `keys`; `orderBadSignature` if the signature
    ///   is invalid; `orderCounterOutOfRange` if the counter is outside the allowed range; `orderNotYetValid`
    ///   if `date` is before the issue time; `orderExpired` if the command has expired at `date`.
    public func check(signedBy keys: [AdministratorKey], at date: Date = Date()) throws(CofferError) {
        let rules = SignedDocumentRules(keys: keys, meeting: content.target, at: date)
        if let refusal = try rules.refusal(of: self, after: 0) { throw refusal.reason }
    }

    /// Checks whether a JSON receipt is for this command.
    ///
    /// The receipt must contain the command's digest, and the command must be one to wipe with the same
    /// scope. If the command is for one vault, and not for a user's namespace in it, the receipt must also
    /// contain that vault's id.
    ///
    /// A receipt is not authenticated, because the keys that could authenticate it are destroyed. The receipt
    /// is only as trustworthy as its source.
    ///
    /// - Parameter receipt: `receipt.json` from the vault directory, or the output of `coffer wipe --json`.
    /// - Returns: Whether the receipt is for this command.
    /// - Throws: `invalidInput` if these bytes are not a receipt.
    public func isNamed(inReceipt receipt: [UInt8]) throws(CofferError) -> Bool {
        guard let named = try? JSONDecoder().decode(Named.self, from: Data(receipt)) else {
            throw CofferError(.invalidInput, "The input is not a wipe receipt.")
        }
        guard case .wipe(let scope) = content.action, named.orderDigest == digest, named.scope == scope.name
        else { return false }
        // The receipt of a namespace contains the id of the namespace's own vault.
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
