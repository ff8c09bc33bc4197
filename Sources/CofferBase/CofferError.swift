/// An error from any product of the package.
///
/// Check ``code`` to decide what to do. Show ``message`` to the user, followed by the application's own
/// description of ``remedy``. No property contains secret bytes. New codes may appear in a minor release, so
/// a `switch` over codes needs a `default`.
public struct CofferError: Error, Sendable {
    /// The kind of failure, for a program to act on.
    public let code: Code

    /// One or more sentences that tell the user what failed. The message never contains a secret.
    public let message: String

    /// A step that may resolve the error, for the application to describe; `nil` if none is known.
    public let remedy: Remedy?

    /// The `errno` of the system call that failed; `nil` if no system call failed.
    public let systemError: Int32?

    /// The number of attempts left before everything is erased; set with ``Code/wrongPasscode``, unless wrong
    /// passcodes never erase the vault.
    public let attemptsLeft: Int?

    /// The version that is currently stored; set with ``Code/conflict`` if a token's version is not the
    /// expected one.
    public let currentVersion: UInt64?

    /// The time to wait before trying again; set with ``Code/attemptDelayed``.
    public let retryAfter: Duration?

    /// The locations of all matching entries; set with ``Code/ambiguous``. With ``Code/policyInvalid``, the
    /// findings in the policy.
    public let entries: [String]

    /// The error code that a server sent, such as `invalid_client`, as the server wrote it: at most 64
    /// printable ASCII characters. The code is set with ``Code/serverRefused`` and with ``Code/tokenRevoked``
    /// if the server sent one.
    public let serverCode: String?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: One or more sentences for the user, without secrets.
    ///   - remedy: A step that may resolve the error.
    ///   - systemError: The `errno` of the system call that failed.
    ///   - attemptsLeft: The number of attempts left before everything is erased.
    ///   - currentVersion: The version that is currently stored.
    ///   - retryAfter: The time to wait before trying again.
    ///   - entries: The locations of all matching entries.
    ///   - serverCode: The error code that a server sent. Only its first 64 printable ASCII characters are
    ///     kept.
    public init(
        _ code: Code, _ message: String, remedy: Remedy? = nil, systemError: Int32? = nil,
        attemptsLeft: Int? = nil, currentVersion: UInt64? = nil, retryAfter: Duration? = nil,
        entries: [String] = [], serverCode: String? = nil
    ) {
        self.code = code
        self.message = message
        self.remedy = remedy
        self.systemError = systemError
        self.attemptsLeft = attemptsLeft
        self.currentVersion = currentVersion
        self.retryAfter = retryAfter
        self.entries = entries
        self.serverCode = serverCode.map { code in
            String(decoding: code.utf8.filter { (0x20...0x7E).contains($0) }.prefix(64), as: UTF8.self)
        }
    }
}

extension CofferError {
    /// The kind of failure. Two codes are equal if they identify the same kind.
    public struct Code: Sendable, Hashable {
        private enum Kind: String {
            case absent, locked, wrongPasscode, wiped, corrupt, notAuthentic, foreign, unsupportedVersion
            case keyringUnavailable, timedOut, conflict, refused, attemptDelayed, notInitialised
            case alreadyExists, invalidInput, busy, noSpace, readOnly, permissionDenied, cancelled
            case inputOutput, outOfMemory, unsupported, internalFailure
            case noSessionBus, noSecretService, noDefaultCollection, keyringLocked, noPrompter
            case promptDismissed, interrupted, ambiguous
            case rolledBack, anchorLost, missing
            case orderMalformed, orderTooLong, orderUnsupportedVersion, orderUnknownKey, orderBadSignature
            case orderForeign, orderCounterOutOfRange, orderReplayed, orderNotYetValid, orderExpired
            case tokenRevoked
            case signInNeeded, sessionLost, serverUnreachable, serverRefused, serverMalformed
            case redirectRefused, issuerMismatch, stateMismatch, certificateRefused, hostRefused
            case policyInvalid, passcodeMustChange
        }

        private let kind: Kind

        /// The code's name, which is stable across releases and appears in the output of `coffer --json`.
        public var name: String { kind.rawValue }

        /// The item or file does not exist.
        public static let absent = Code(kind: .absent)
        /// The vault lists the item, but another program deleted it.
        public static let missing = Code(kind: .missing)
        /// The required keys are not in memory: unlock the vault first.
        public static let locked = Code(kind: .locked)
        /// The passcode does not open this vault.
        public static let wrongPasscode = Code(kind: .wrongPasscode)
        /// The vault was wiped and requires activation.
        public static let wiped = Code(kind: .wiped)
        /// Stored data is damaged: its structure or its authentication tag is invalid.
        public static let corrupt = Code(kind: .corrupt)
        /// An authenticated message does not open under this key. The error never reveals which byte was
        /// invalid.
        public static let notAuthentic = Code(kind: .notAuthentic)
        /// Stored data is intact but belongs to another vault.
        public static let foreign = Code(kind: .foreign)
        /// Stored data has a format version that this release cannot read.
        public static let unsupportedVersion = Code(kind: .unsupportedVersion)
        /// The keyring that this vault uses cannot be reached.
        public static let keyringUnavailable = Code(kind: .keyringUnavailable)
        /// There is no session bus, so the Secret Service cannot be reached.
        public static let noSessionBus = Code(kind: .noSessionBus)
        /// There is a session bus, but no Secret Service on it.
        public static let noSecretService = Code(kind: .noSecretService)
        /// The Secret Service has no default collection. The library does not create one.
        public static let noDefaultCollection = Code(kind: .noDefaultCollection)
        /// The user's keyring is locked. Compare ``locked``, which refers to the vault.
        public static let keyringLocked = Code(kind: .keyringLocked)
        /// The keyring must prompt the user, but no program can show the prompt.
        public static let noPrompter = Code(kind: .noPrompter)
        /// The user closed the keyring's prompt without an answer.
        public static let promptDismissed = Code(kind: .promptDismissed)
        /// The Secret Service disappeared during a call, so it is unknown whether the call took effect.
        public static let interrupted = Code(kind: .interrupted)
        /// Files are older than the state recorded elsewhere: an older copy was restored.
        public static let rolledBack = Code(kind: .rolledBack)
        /// An anchor, which would show an older copy of the vault, is missing or cannot be read or written,
        /// so it is unknown whether an older copy was restored.
        public static let anchorLost = Code(kind: .anchorLost)
        /// Several items match where only one is expected. The items are either entries in the keyring, which
        /// ``CofferError/entries`` lists, or entries in a soup.
        public static let ambiguous = Code(kind: .ambiguous)
        /// A deadline passed before the operation finished.
        public static let timedOut = Code(kind: .timedOut)
        /// The stored version, which ``CofferError/currentVersion`` contains, is not the expected one; or a
        /// constraint of a database forbids the change.
        public static let conflict = Code(kind: .conflict)
        /// A policy or a safety rule forbids the operation.
        public static let refused = Code(kind: .refused)
        /// The attempt came too soon after a wrong passcode. ``CofferError/retryAfter`` is the time to wait.
        public static let attemptDelayed = Code(kind: .attemptDelayed)
        /// There is no vault at this location.
        public static let notInitialised = Code(kind: .notInitialised)
        /// The item already exists and was not replaced.
        public static let alreadyExists = Code(kind: .alreadyExists)
        /// An argument has the wrong size, form or value.
        public static let invalidInput = Code(kind: .invalidInput)
        /// Another process or connection is using the data, or an earlier operation on the data is not
        /// finished.
        public static let busy = Code(kind: .busy)
        /// The disk is full, or a quota or size limit is reached.
        public static let noSpace = Code(kind: .noSpace)
        /// The file system is mounted read-only.
        public static let readOnly = Code(kind: .readOnly)
        /// The operating system denied access.
        public static let permissionDenied = Code(kind: .permissionDenied)
        /// The task was cancelled and left no partial result.
        public static let cancelled = Code(kind: .cancelled)
        /// Reading or writing failed for a reason that no other code describes. ``CofferError/systemError``
        /// may identify the reason.
        public static let inputOutput = Code(kind: .inputOutput)
        /// Guarded memory could not be allocated.
        public static let outOfMemory = Code(kind: .outOfMemory)
        /// This host or this build does not support the operation.
        public static let unsupported = Code(kind: .unsupported)
        /// The bytes are not a signed command: their structure is invalid.
        public static let orderMalformed = Code(kind: .orderMalformed)
        /// The command is longer than allowed.
        public static let orderTooLong = Code(kind: .orderTooLong)
        /// The command has a format version that this release cannot read.
        public static let orderUnsupportedVersion = Code(kind: .orderUnsupportedVersion)
        /// The command is signed with a key that this vault does not trust.
        public static let orderUnknownKey = Code(kind: .orderUnknownKey)
        /// The command's signature is invalid.
        public static let orderBadSignature = Code(kind: .orderBadSignature)
        /// The command is genuine but is for another vault or device.
        public static let orderForeign = Code(kind: .orderForeign)
        /// The command is genuine but its counter is outside the allowed range.
        public static let orderCounterOutOfRange = Code(kind: .orderCounterOutOfRange)
        /// The command is genuine, but this command or one with a higher counter was received before.
        public static let orderReplayed = Code(kind: .orderReplayed)
        /// The command is genuine but its issue time is in the future.
        public static let orderNotYetValid = Code(kind: .orderNotYetValid)
        /// The command is genuine but has expired.
        public static let orderExpired = Code(kind: .orderExpired)
        /// The issuer revoked the token: a server answered `invalid_grant`. Throw this error from the closure
        /// that refreshes the token.
        public static let tokenRevoked = Code(kind: .tokenRevoked)
        /// No session exists at the server, or its end has come: the user must sign in.
        public static let signInNeeded = Code(kind: .signInNeeded)
        /// The server no longer accepts the refresh token, probably because an answer with its successor was
        /// lost or a copy of the vault renewed the session. Compare ``tokenRevoked``. The user must sign in;
        /// nothing else is lost.
        public static let sessionLost = Code(kind: .sessionLost)
        /// No complete answer came from the server.
        public static let serverUnreachable = Code(kind: .serverUnreachable)
        /// The server refused the request. ``CofferError/serverCode`` is the server's own code, if it sent
        /// one.
        public static let serverRefused = Code(kind: .serverRefused)
        /// The server's answer or document is invalid.
        public static let serverMalformed = Code(kind: .serverMalformed)
        /// The server answered with a redirect that is not followed, or a redirect back from the browser is
        /// invalid.
        public static let redirectRefused = Code(kind: .redirectRefused)
        /// An answer names another issuer than the expected one.
        public static let issuerMismatch = Code(kind: .issuerMismatch)
        /// The answer to a sign-in does not belong to that sign-in.
        public static let stateMismatch = Code(kind: .stateMismatch)
        /// The server's certificate is not valid for the server or not the expected one.
        public static let certificateRefused = Code(kind: .certificateRefused)
        /// The URL is outside the hosts that may receive a token or that the administrator allows.
        public static let hostRefused = Code(kind: .hostRefused)
        /// The administrator's policy cannot be read, trusted or understood. ``CofferError/entries`` lists
        /// every finding with its file and line.
        public static let policyInvalid = Code(kind: .policyInvalid)
        /// The passcode is right, but the administrator's policy requires another one: change the passcode.
        public static let passcodeMustChange = Code(kind: .passcodeMustChange)
        /// An underlying library failed unexpectedly.
        public static let internalFailure = Code(kind: .internalFailure)
    }
}

extension CofferError: CustomStringConvertible {
    /// The code's name, a colon and the message.
    public var description: String { "\(code.name): \(message)" }
}
