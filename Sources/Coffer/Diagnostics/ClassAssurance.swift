public import CofferBase

/// A promise that a protection class makes, and how strongly this host backs it.
public struct ClassAssurance: Sendable, Equatable {
    /// How strongly a promise is backed.
    public enum Strength: String, Sendable {
        /// The keys are not available, so an attacker must break the cryptography or guess the passcode.
        case cryptographic
        /// The protection stops accidents and curiosity, but an attacker with the files or the user's account
        /// can circumvent it.
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
        /// The item cannot be used on another device.
        case thisDevice
        /// The vault locks when the user leaves the session.
        case lockSources
    }

    /// The promise.
    public let promise: Promise
    /// How strongly this host backs the promise.
    public let strength: Strength
    /// Why the promise has this strength on this host.
    public let reason: String
    /// A step that would strengthen the assurance, which the application describes to its user; `nil` if
    /// there is none.
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
