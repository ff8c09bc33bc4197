public import CofferBase

/// The times at which a client asks whether the user has approved a device (RFC 8628 section 3.5).
///
/// The value has no clock and no network: the caller passes the time in, waits, sends the request, and passes
/// the answer in.
public struct DeviceGrant: Sendable, Equatable {
    /// The maximum time for which a client asks, regardless of the server's limit.
    public static let maxLife = Duration.seconds(30 * 60)
    /// The interval if the server states none.
    public static let defaultInterval = Duration.seconds(5)
    private static let shortestInterval = Duration.seconds(1)
    private static let longestInterval = Duration.seconds(300)

    /// The server's answer to one question.
    public enum Answer: Sendable, Equatable {
        /// The tokens.
        case approved
        /// The user has not decided yet: `authorization_pending`.
        case pending
        /// The same, and the client must ask less often: `slow_down`.
        case slowDown
        /// The user has refused: `access_denied`.
        case denied
        /// The device code has expired: `expired_token`.
        case expired
        /// No complete answer came.
        case unreachable
        /// Any other error of the server's.
        case refused(String)

        /// Creates the answer from the server's error code.
        ///
        /// - Parameter error: The member `error` of the answer.
        public init(error: String) {
            switch error {
            case "authorization_pending": self = .pending
            case "slow_down": self = .slowDown
            case "access_denied": self = .denied
            case "expired_token": self = .expired
            default: self = .refused(error)
            }
        }
    }

    /// The client's next step.
    public enum Step: Sendable, Equatable {
        /// Wait until this time, then call ``DeviceGrant/step(now:)`` again.
        case wait(until: Duration)
        /// Ask the server, then call ``DeviceGrant/receive(_:now:retryAfter:)``.
        case ask
        /// The server has sent the tokens.
        case approved
    }

    /// The time between two questions.
    public private(set) var interval: Duration
    /// The time at which the client gives up.
    public let end: Duration
    private var next: Duration
    private var isApproved = false

    /// Creates the schedule when the server has answered with the device code.
    ///
    /// - Parameters:
    ///   - interval: The interval that the server states, or `nil` if it states none.
    ///   - expiresIn: The life of the device code.
    ///   - now: The current time, on a clock that the user cannot set.
    public init(interval: Duration? = nil, expiresIn: Duration, now: Duration) {
        let asked = interval ?? Self.defaultInterval
        self.interval = min(max(asked, Self.shortestInterval), Self.longestInterval)
        end = now + min(max(expiresIn, .zero), Self.maxLife)
        next = now + self.interval
    }

    /// Returns the next step.
    ///
    /// - Parameter now: The current time.
    /// - Returns: The step.
    /// - Throws: `timedOut` if the user has not decided in time.
    public func step(now: Duration) throws(CofferError) -> Step {
        if isApproved { return .approved }
        guard now < end else { throw Self.tooLate }
        if now >= next { return .ask }
        return .wait(until: min(next, end))
    }

    /// Records the server's answer.
    ///
    /// - Parameters:
    ///   - answer: The answer.
    ///   - now: The time at which the answer came.
    ///   - retryAfter: The time for which the server asked the client to wait; `nil` if it named none. The
    ///     client gives up at ``end`` all the same.
    /// - Throws: `serverRefused`, with the server's code, if the user or the server has refused; `timedOut`
    ///   if the device code has expired.
    public mutating func receive(
        _ answer: Answer, now: Duration, retryAfter: Duration? = nil
    ) throws(CofferError) {
        switch answer {
        case .approved: isApproved = true
        case .pending: break
        // RFC 8628 section 3.5: for this question and all later ones.
        case .slowDown: interval = min(interval + .seconds(5), Self.longestInterval)
        case .unreachable: interval = min(interval * 2, Self.longestInterval)
        case .expired: throw Self.tooLate
        case .denied:
            throw CofferError(
                .serverRefused, "The request was refused on the other device.", serverCode: "access_denied")
        case .refused(let code):
            throw CofferError(.serverRefused, "The server refused the sign-in.", serverCode: code)
        }
        next = now + max(interval, retryAfter ?? .zero)
    }

    private static var tooLate: CofferError {
        CofferError(.timedOut, "The request was not approved in time. Start the sign-in again.")
    }
}
