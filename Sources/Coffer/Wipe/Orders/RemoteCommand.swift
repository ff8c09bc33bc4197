public import CofferBase
public import CofferCrypto
public import FoundationEssentials

/// An order as an administrator writes it: for whom, how long, what and why.
///
/// ```swift
/// let order = RemoteCommand(
///     .wipe(.all), for: .vault(vaultID), counter: 7, issued: Date(), expires: Date() + 86_400,
///     reason: "lost on a train")
/// let bytes = try order.signed(by: seed)
/// ```
///
/// Whoever receives the bytes reads them as ``SignedCommand``.
public struct RemoteCommand: Sendable, Hashable {
    /// What is to be done.
    public let action: OrderAction
    /// Whom it is for.
    public let target: OrderTarget
    /// Greater than in every order that the vault has taken before; contacts are counted by themselves.
    public let counter: UInt64
    /// When it was made, in whole seconds; before that it is not valid.
    public let issued: Date
    /// From when on it is no longer valid, in whole seconds.
    public let expires: Date
    /// What the receipt says; up to 1024 bytes of UTF-8 without control characters.
    public let reason: String

    /// Puts the parts together.
    ///
    /// - Parameters:
    ///   - action: What is to be done.
    ///   - target: Whom it is for.
    ///   - counter: 1 to 2^64 - 2, greater than in every order before; the time in milliseconds will do.
    ///   - issued: When it was made.
    ///   - expires: From when on it is no longer valid.
    ///   - reason: What the receipt says.
    public init(
        _ action: OrderAction, for target: OrderTarget, counter: UInt64, issued: Date, expires: Date,
        reason: String = ""
    ) {
        self.action = action
        self.target = target
        self.counter = counter
        self.issued = issued
        self.expires = expires
        self.reason = reason
    }

    /// The order as bytes, signed: see the documentation of the formats.
    ///
    /// - Parameter seed: The private key, 32 bytes.
    /// - Returns: At most ``SignedCommand/maxByteCount`` bytes.
    /// - Throws: `invalidInput` for a counter, a time, a name or a reason that no order may have.
    public func signed(by seed: borrowing SymmetricKey) throws(CofferError) -> [UInt8] {
        try check()
        let body = try OrderEncoding.encode(self, signer: AdministratorKey(of: seed))
        return body + (try Ed25519.sign(body.span, seed: seed))
    }

    /// What whoever reads it will look at, too.
    private func check() throws(CofferError) {
        guard Self.counters.contains(counter) else {
            throw CofferError(.invalidInput, "The counter of an order is 1 to \(Self.counters.upperBound).")
        }
        guard let issued = OrderEncoding.seconds(issued), let expires = OrderEncoding.seconds(expires),
            issued < expires
        else {
            throw CofferError(
                .invalidInput, "An order is issued after 1970, and expires later and before the year 10000.")
        }
        guard OrderEncoding.isReason(reason) else {
            throw CofferError(
                .invalidInput, "A reason has at most 1024 bytes and no control characters.")
        }
        guard case .wipe(.user(let name)) = action else { return }
        guard OrderEncoding.isName(name) else {
            throw CofferError(
                .invalidInput, "The name of a user has 1 to 256 bytes and no control characters.")
        }
    }

    /// The counters that an order may have: 0 stands for none seen yet, and the greatest would be the last.
    static let counters: ClosedRange<UInt64> = 1...UInt64.max - 1
}
