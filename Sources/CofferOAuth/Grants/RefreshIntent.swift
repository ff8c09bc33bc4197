package import Coffer
import CofferBase
import CofferCrypto
import CofferEngine

/// The note that a refresh token is about to be sent, which is on the disk before the token is spent.
///
/// If the note of the stored token is still there later, an answer to it may have been lost.
package struct RefreshIntent: Sendable, Equatable {
    /// A random key, so that equal tokens have different hashes.
    let key: [UInt8]
    /// The keyed hash of the token.
    let hash: [UInt8]
    /// The version of the stored token.
    package let version: UInt64
    /// The number of times that the token has been sent, including the attempt that the note announces.
    package let attempt: Int
    /// The time of the first attempt.
    package let began: ClockStamp

    /// The greatest number of attempts that is counted.
    static let maxAttempt = 1_000_000

    init(key: [UInt8], hash: [UInt8], version: UInt64, attempt: Int, began: ClockStamp) {
        self.key = key
        self.hash = hash
        self.version = version
        self.attempt = attempt
        self.began = began
    }

    /// Creates the note of the first attempt.
    init(_ token: Token, version: UInt64, _ clock: VaultClock) throws(CofferError) {
        let key = try SecureRandom.bytes(32)
        self.init(
            key: key, hash: try Self.hash(of: token, key), version: version, attempt: 1,
            began: ClockStamp(clock))
    }

    /// Returns the note of the same token after more attempts.
    func counting(_ attempts: Int) -> RefreshIntent {
        RefreshIntent(
            key: key, hash: hash, version: version, attempt: min(attempt + attempts, Self.maxAttempt),
            began: began)
    }

    /// Returns whether the note is about this stored token.
    func isAbout(_ token: Token, version: UInt64) throws(CofferError) -> Bool {
        guard version == self.version else { return false }
        let own = try Self.hash(of: token, key)
        return ConstantTime.equal(own.span, hash.span)
    }

    private static func hash(of token: Token, _ key: [UInt8]) throws(CofferError) -> [UInt8] {
        try token.exposing { (bytes) throws(CofferError) -> [UInt8] in
            try HMAC.authenticate(bytes, key: SymmetricKey.copying(key.span))
        }
    }
}
