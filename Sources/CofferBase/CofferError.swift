/// What went wrong, as one type for every product of the package.
///
/// Compare ``code`` to decide what to do; show ``message`` to a person. Neither the message nor any other
/// field ever holds secret bytes. New codes may appear in a minor release, so a `switch` over codes needs
/// a `default`.
public struct CofferError: Error, Sendable {
    /// What happened, for a program to decide on.
    public let code: Code

    /// One sentence for a person: what failed and, where there is one, the remedy. Never a secret.
    public let message: String

    /// The `errno` of the system call that failed, where there was one.
    public let systemError: Int32?

    /// Attempts left before everything is erased; set with ``Code/wrongPasscode``.
    public let attemptsLeft: Int?

    /// The version now stored; set with ``Code/conflict``.
    public let currentVersion: UInt64?

    /// How long to wait before trying again; set with ``Code/attemptDelayed``.
    public let retryAfter: Duration?

    /// What of several entries is meant cannot be told: where each of them is; set with ``Code/ambiguous``.
    public let entries: [String]

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: What happened.
    ///   - message: One sentence for a person, without secrets.
    ///   - systemError: The `errno` behind it.
    ///   - attemptsLeft: Attempts left before everything is erased.
    ///   - currentVersion: The version now stored.
    ///   - retryAfter: How long to wait before trying again.
    ///   - entries: Where each of several entries is.
    public init(
        _ code: Code, _ message: String, systemError: Int32? = nil, attemptsLeft: Int? = nil,
        currentVersion: UInt64? = nil, retryAfter: Duration? = nil, entries: [String] = []
    ) {
        self.code = code
        self.message = message
        self.systemError = systemError
        self.attemptsLeft = attemptsLeft
        self.currentVersion = currentVersion
        self.retryAfter = retryAfter
        self.entries = entries
    }
}

extension CofferError {
    /// The kinds of failure. Equal when they name the same kind.
    public struct Code: Sendable, Hashable {
        private enum Kind: String {
            case absent, locked, wrongPasscode, wiped, corrupt, notAuthentic, foreign, unsupportedVersion
            case keyringUnavailable, timedOut, conflict, refused, attemptDelayed, notInitialised
            case alreadyExists, invalidInput, busy, noSpace, readOnly, permissionDenied, cancelled
            case inputOutput, outOfMemory, unsupported, internalFailure
            case noSessionBus, noSecretService, noDefaultCollection, keyringLocked, noPrompter
            case promptDismissed, interrupted, ambiguous
            case rolledBack, missing
            case orderMalformed, orderTooLong, orderUnsupportedVersion, orderUnknownKey, orderBadSignature
            case orderForeign, orderCounterOutOfRange, orderReplayed, orderNotYetValid, orderExpired
            case tokenRevoked
        }

        private let kind: Kind

        /// The code's name, stable across releases: it is what `coffer --json` prints.
        public var name: String { kind.rawValue }

        /// The item or file does not exist.
        public static let absent = Code(kind: .absent)
        /// The vault knows it and it is gone: something else than Coffer deleted it.
        public static let missing = Code(kind: .missing)
        /// The keys needed are not in memory: unlock first.
        public static let locked = Code(kind: .locked)
        /// The passcode does not open this home.
        public static let wrongPasscode = Code(kind: .wrongPasscode)
        /// The home was wiped and needs activation.
        public static let wiped = Code(kind: .wiped)
        /// Stored data is damaged: its structure or its authentication does not hold.
        public static let corrupt = Code(kind: .corrupt)
        /// An authenticated message does not open under this key. Which byte was wrong is never said.
        public static let notAuthentic = Code(kind: .notAuthentic)
        /// Stored data is sound but belongs to another home.
        public static let foreign = Code(kind: .foreign)
        /// Stored data was written in a format version that this release does not read.
        public static let unsupportedVersion = Code(kind: .unsupportedVersion)
        /// The keyring that this home uses cannot be reached.
        public static let keyringUnavailable = Code(kind: .keyringUnavailable)
        /// There is no session bus to reach the Secret Service by.
        public static let noSessionBus = Code(kind: .noSessionBus)
        /// There is a session bus and no Secret Service on it.
        public static let noSecretService = Code(kind: .noSecretService)
        /// The Secret Service has no default collection, and none is made for the user.
        public static let noDefaultCollection = Code(kind: .noDefaultCollection)
        /// The user's keyring is locked. Not to be confused with ``locked``, which is the vault.
        public static let keyringLocked = Code(kind: .keyringLocked)
        /// The keyring would have to ask the user, and there is nothing to ask with.
        public static let noPrompter = Code(kind: .noPrompter)
        /// The user closed the keyring's question without an answer.
        public static let promptDismissed = Code(kind: .promptDismissed)
        /// The Secret Service went away in the middle of a call: whether it was done is not known.
        public static let interrupted = Code(kind: .interrupted)
        /// Files are older than what is known of them elsewhere: somebody put back a copy.
        public static let rolledBack = Code(kind: .rolledBack)
        /// Several items answer where one is meant: entries of the keyring, see ``CofferError/entries``, or
        /// of a soup.
        public static let ambiguous = Code(kind: .ambiguous)
        /// A deadline passed.
        public static let timedOut = Code(kind: .timedOut)
        /// The stored version is not the expected one; see ``CofferError/currentVersion``.
        public static let conflict = Code(kind: .conflict)
        /// A policy or a safety rule forbids it.
        public static let refused = Code(kind: .refused)
        /// Too soon after a wrong passcode; see ``CofferError/retryAfter``.
        public static let attemptDelayed = Code(kind: .attemptDelayed)
        /// There is no home here.
        public static let notInitialised = Code(kind: .notInitialised)
        /// It exists already and is not replaced.
        public static let alreadyExists = Code(kind: .alreadyExists)
        /// An argument has the wrong size, form or value.
        public static let invalidInput = Code(kind: .invalidInput)
        /// Another process holds the lock.
        public static let busy = Code(kind: .busy)
        /// The disk, the quota or a size limit is full.
        public static let noSpace = Code(kind: .noSpace)
        /// The file system is mounted read-only.
        public static let readOnly = Code(kind: .readOnly)
        /// The operating system refuses access.
        public static let permissionDenied = Code(kind: .permissionDenied)
        /// The task was cancelled; nothing was left behind.
        public static let cancelled = Code(kind: .cancelled)
        /// Reading or writing failed for another reason; see ``CofferError/systemError``.
        public static let inputOutput = Code(kind: .inputOutput)
        /// Guarded memory could not be had.
        public static let outOfMemory = Code(kind: .outOfMemory)
        /// This host or this build cannot do it.
        public static let unsupported = Code(kind: .unsupported)
        /// The bytes are no order: their structure does not hold.
        public static let orderMalformed = Code(kind: .orderMalformed)
        /// More bytes than an order may have.
        public static let orderTooLong = Code(kind: .orderTooLong)
        /// The order was written in a format version that this release does not read.
        public static let orderUnsupportedVersion = Code(kind: .orderUnsupportedVersion)
        /// The order is signed with a key that this vault does not trust.
        public static let orderUnknownKey = Code(kind: .orderUnknownKey)
        /// The order's signature does not hold.
        public static let orderBadSignature = Code(kind: .orderBadSignature)
        /// The order is genuine and for another vault or device.
        public static let orderForeign = Code(kind: .orderForeign)
        /// The order is genuine and has a counter that none may have.
        public static let orderCounterOutOfRange = Code(kind: .orderCounterOutOfRange)
        /// The order is genuine and was seen before, or one with a higher counter.
        public static let orderReplayed = Code(kind: .orderReplayed)
        /// The order is genuine and issued in the future.
        public static let orderNotYetValid = Code(kind: .orderNotYetValid)
        /// The order is genuine and its time is over.
        public static let orderExpired = Code(kind: .orderExpired)
        /// Whoever issued the token took it back: a server answered `invalid_grant`. Throw it from the
        /// closure of a refresh.
        public static let tokenRevoked = Code(kind: .tokenRevoked)
        /// A library below failed where it should not.
        public static let internalFailure = Code(kind: .internalFailure)
    }
}

extension CofferError: CustomStringConvertible {
    /// The code and the message.
    public var description: String { "\(code.name): \(message)" }
}
