/// One thing that a protection class promises, and how far the promise goes on this host.
public struct ClassAssurance: Sendable, Equatable {
    /// What carries a promise.
    public enum Strength: String, Sendable {
        /// Keys that are not there: who would break it must break the cryptography or guess the passcode.
        case cryptographic
        /// It holds against accidents and the curious; whoever has the files or the account gets around it.
        case advisory
        /// It is not given.
        case absent
    }

    /// What is promised.
    public enum Promise: String, Sendable, CaseIterable {
        /// Nobody reads the item without the passcode.
        case passcode
        /// Nobody reads the item while the vault is locked.
        case lock
        /// The item is of no use on another device.
        case thisDevice
        /// The vault locks when the user goes away.
        case lockSources
    }

    /// What is promised.
    public let promise: Promise
    /// What carries it here.
    public let strength: Strength
    /// Why.
    public let reason: String
    /// What to do for more; `nil` when there is nothing.
    public let remedy: String?

    init(_ promise: Promise, _ strength: Strength, _ reason: String, remedy: String? = nil) {
        self.promise = promise
        self.strength = strength
        self.reason = reason
        self.remedy = remedy
    }
}
