public import CofferBase
public import CofferCrypto
public import FoundationEssentials

/// An unsigned command from an administrator, with its recipient, validity period, action and reason.
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
    /// The action to carry out.
    public let action: RemoteCommand.Action
    /// The command's recipient: either one vault or every vault on a machine.
    public let target: RemoteCommand.Target
    /// The command's counter, which must be greater than the counter of any command that the vault has
    /// accepted. Heartbeats have a separate counter.
    public let counter: UInt64
    /// The time at which the command is issued, in whole seconds. The command is not valid before this time.
    public let issued: Date
    /// The time at which the command expires, in whole seconds.
    public let expires: Date
    /// The reason to state in the receipt; up to 1024 bytes of UTF-8 without control characters.
    public let reason: String

    /// Creates a command from its parts.
    ///
    /// - Parameters:
    ///   - action: The action to carry out.
    ///   - target: The command's recipient.
    ///   - counter: The counter: 1 to 2^64 - 2, and greater than in every earlier command. The current time
    ///     in milliseconds is suitable.
    ///   - issued: The time at which the command is issued.
    ///   - expires: The time at which the command expires.
    ///   - reason: The reason to state in the receipt.
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

    /// Encodes and signs the command.
    ///
    /// - Parameter seed: The 32-byte private key.
    /// - Returns: The signed command, at most ``SignedCommand/maxByteCount`` bytes.
    /// - Throws: `invalidInput` if the counter, a time, the user name or the reason is invalid, or if the
    ///   seed has another size.
    public func signed(by seed: borrowing SymmetricKey) throws(CofferError) -> [UInt8] {
        try check()
        let body = try CommandEncoding.encode(self, signer: AdministratorKey(of: seed))
        return body + (try Ed25519.sign(body.span, seed: seed))
    }

    /// Returns the times of a document to sign, in seconds since 1970.
    ///
    /// - Throws: `invalidInput` unless a recipient accepts the counter and the period.
    static func checkedPeriod(
        _ issued: Date, _ expires: Date, counter: UInt64, of noun: String
    ) throws(CofferError) -> (issued: UInt64, expires: UInt64) {
        guard counters.contains(counter) else {
            throw CofferError(
                .invalidInput, "A \(noun)'s counter must be 1 to \(counters.upperBound).")
        }
        guard let issued = CommandEncoding.seconds(issued), let expires = CommandEncoding.seconds(expires),
            issued < expires
        else {
            throw CofferError(
                .invalidInput,
                "The issue date of a \(noun) must be after 1970, and the expiry date must be later and "
                    + "before the year 10000.")
        }
        return (issued, expires)
    }

    /// Checks the fields that the recipient also checks.
    private func check() throws(CofferError) {
        _ = try Self.checkedPeriod(issued, expires, counter: counter, of: "command")
        guard CommandEncoding.isReason(reason) else {
            throw CofferError(
                .invalidInput,
                "A reason must be at most 1024 bytes long and must not contain control characters.")
        }
        guard case .wipe(.user(let name)) = action else { return }
        guard CommandEncoding.isName(name) else {
            throw CofferError(
                .invalidInput,
                "A user name must be 1 to 256 bytes long and must not contain control characters.")
        }
    }

    /// The valid counters. 0 is not valid, because it means that no command has been accepted yet. The
    /// greatest `UInt64` value is not valid, because no command could follow it.
    static let counters: ClosedRange<UInt64> = 1...UInt64.max - 1
}
