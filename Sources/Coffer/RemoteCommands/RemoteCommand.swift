public import CofferBase
public import CofferCrypto
public import FoundationEssentials

/// An unsigned command of an administrator: the recipient, the validity, the action and the reason.
///
/// ```swift
/// let command = RemoteCommand(
///     .wipe(.all), for: .vault(vaultID), counter: 7, issued: Date(), expires: Date() + 86_400,
///     reason: "lost on a train")
/// let bytes = try command.signed(by: seed)
/// ```
///
/// The recipient reads the bytes as a ``SignedCommand``.
public struct RemoteCommand: Sendable, Hashable {
    /// The action.
    public let action: RemoteCommand.Action
    /// The recipient.
    public let target: RemoteCommand.Target
    /// The command's counter, which must be greater than that of any command the vault has accepted.
    /// Heartbeats have a separate counter.
    public let counter: UInt64
    /// The time of issue, in whole seconds. The command is not valid before this time.
    public let issued: Date
    /// The time from which the command is no longer valid, in whole seconds.
    public let expires: Date
    /// The reason that the receipt states; up to 1024 bytes of UTF-8 without control characters.
    public let reason: String

    /// Creates a command from its parts.
    ///
    /// - Parameters:
    ///   - action: The action.
    ///   - target: The recipient.
    ///   - counter: 1 to 2^64 - 2, greater than in every earlier command, such as the time in milliseconds.
    ///   - issued: The time of issue.
    ///   - expires: The time from which the command is no longer valid.
    ///   - reason: The reason that the receipt states.
    public init(
        _ action: RemoteCommand.Action, for target: RemoteCommand.Target, counter: UInt64, issued: Date,
        expires: Date,
        reason: String = ""
    ) {
        self.action = action
        self.target = target
        self.counter = counter
        self.issued = issued
        self.expires = expires
        self.reason = reason
    }

    /// Encodes and signs the command: see the documentation of the formats.
    ///
    /// - Parameter seed: The private key, 32 bytes.
    /// - Returns: The signed command, at most ``SignedCommand/maxByteCount`` bytes.
    /// - Throws: `invalidInput` for an invalid counter, time, user name or reason, or a seed of another size.
    public func signed(by seed: borrowing SymmetricKey) throws(CofferError) -> [UInt8] {
        try check()
        let body = try CommandEncoding.encode(self, signer: AdministratorKey(of: seed))
        return body + (try Ed25519.sign(body.span, seed: seed))
    }

    /// Checks the fields that the recipient checks as well.
    private func check() throws(CofferError) {
        guard Self.counters.contains(counter) else {
            throw CofferError(
                .invalidInput, "The counter of an order must be 1 to \(Self.counters.upperBound).")
        }
        guard let issued = CommandEncoding.seconds(issued), let expires = CommandEncoding.seconds(expires),
            issued < expires
        else {
            throw CofferError(
                .invalidInput,
                "An order must be issued after 1970, and expire later and before the year 10000.")
        }
        guard CommandEncoding.isReason(reason) else {
            throw CofferError(
                .invalidInput, "A reason must be at most 1024 bytes long, without control characters.")
        }
        guard case .wipe(.user(let name)) = action else { return }
        guard CommandEncoding.isName(name) else {
            throw CofferError(
                .invalidInput, "The name of a user must be 1 to 256 bytes long, without control characters.")
        }
    }

    /// The valid counters. 0 means that no command was accepted yet; no command could follow the greatest
    /// value.
    static let counters: ClosedRange<UInt64> = 1...UInt64.max - 1
}
