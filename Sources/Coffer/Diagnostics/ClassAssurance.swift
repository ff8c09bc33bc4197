public import CofferBase

/// One promise of a protection class, and how strongly this host backs it.
public struct ClassAssurance: Sendable, Equatable {
    /// How strongly a promise is backed.
    public enum Strength: String, Sendable {
        /// The keys are not there: an attacker must break the cryptography or guess the passcode.
        case cryptographic
        /// Protects against accidents and curiosity; an attacker with the files or the account can circumvent
        /// it.
        case advisory
        /// The promise is not kept.
        case absent
    }

    /// The promises that a class can make.
    public enum Promise: String, Sendable, CaseIterable {
        /// Only the passcode makes the item readable.
        case passcode
        /// The item cannot be read while the vault is locked.
        case lock
        /// The item is of no use on another device.
        case thisDevice
        /// The vault locks when the user goes away.
        case lockSources
    }

    /// The promise.
    public let promise: Promise
    /// How strongly it is backed here.
    public let strength: Strength
    /// The reason for the strength.
    public let reason: String
    /// The way to a stronger assurance, to be worded by the application; `nil` if there is none.
    public let remedy: CofferError.Remedy?

    init(
        _ promise: Promise, _ strength: Strength, _ reason: String, remedy: CofferError.Remedy? = nil
    ) {
        self.promise = promise
        self.strength = strength
        self.reason = reason
        self.remedy = remedy
    }
}
