public import CofferBase

/// A promise that a protection class makes, and the strength with which this host backs the promise.
public struct ClassAssurance: Sendable, Equatable {
    /// The strength with which a host backs a promise.
    public enum Strength: String, Sendable {
        /// The keys are not available, so an attacker must break the cryptography or guess the passcode.
        case cryptographic
        /// The protection stops accidents and curiosity, but an attacker with the files or the user's account
        /// can circumvent it.
        case advisory
        /// The promise is not kept.
        case absent
    }

    /// A promise that a protection class can make.
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

    /// The promise that this assurance describes.
    public let promise: Promise
    /// The strength with which this host backs the promise.
    public let strength: Strength
    /// The reason why the promise has this strength on this host.
    public let reason: String
    /// A step that would strengthen the assurance, for the application to describe to its user; `nil` if
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
