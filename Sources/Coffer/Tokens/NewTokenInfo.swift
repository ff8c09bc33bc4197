import CofferVault
import FoundationEssentials

/// The description that a caller gives a new value. The class, the scopes and the attributes are `nil` if the
/// new value is to have those of the value that it replaces; the expiry date belongs to one value and is
/// never taken over.
struct NewTokenInfo {
    let id: TokenID
    let stored: Date
    let protection: ProtectionClass?
    /// The class of a value that replaces none, unless the caller gives one: the vault's default.
    let defaultClass: ProtectionClass
    let expires: Date?
    let scopes: [String]?
    let attributes: [String: String]?

    /// Returns the description of the new value.
    ///
    /// - Parameters:
    ///   - version: The new version; `nil` while the value is pending.
    ///   - old: What is known of the value that it replaces; `nil` if there is none.
    /// - Returns: The description.
    func info(_ version: UInt64?, replacing old: TokenInfo?) -> TokenInfo {
        // Anyone can have stored a marked value, so it decides nothing about the next one.
        let old = old?.isStoredWhileLocked == true ? nil : old
        return TokenInfo(
            id: id, version: version, protection: protection ?? old?.protection ?? defaultClass,
            stored: stored, expires: expires, scopes: scopes ?? old?.scopes ?? [],
            attributes: attributes ?? old?.attributes ?? [:])
    }
}
