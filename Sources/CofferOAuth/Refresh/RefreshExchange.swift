import Coffer
import CofferBase
import CofferCrypto

/// The requests with one refresh token: the first one, its repetition while no answer comes, and the second
/// question after a refusal.
struct RefreshExchange {
    /// What the requests led to.
    enum Result: Sendable {
        /// A complete answer, with the time at which its request was sent.
        case answer(TokenResponse, sent: ClockStamp)
        case refused(CofferError)
        case uncertain(CofferError)
        case lost(CofferError)
        case revoked(CofferError)
        /// The stored token was replaced in another way.
        case superseded
    }

    private enum Verdict: Sendable {
        case judged(RefreshVerdict)
        case notSent(CofferError)
        case unanswered(CofferError)
    }

    /// The waits before the repetitions.
    static let waits: [Duration] = [.milliseconds(500), .seconds(2), .seconds(6)]
    /// The time for all requests, which is less than other callers wait.
    static let limit = Duration.seconds(45)
    /// The wait before the second question after a refusal.
    static let confirmationWait = Duration.seconds(1)

    let token: Token
    let endpoint: any TokenEndpoint
    let clock: VaultClock
    let sleep: @Sendable (Duration) async -> Bool
    /// The number of the first attempt.
    let firstAttempt: Int
    /// Whether an attempt, perhaps of an earlier process, was not answered.
    private(set) var isUnanswered: Bool
    /// The number of requests.
    private(set) var count = 0
    private let began: Duration

    init(
        _ token: Token, _ endpoint: any TokenEndpoint, firstAttempt: Int, isUnanswered: Bool,
        clock: VaultClock, sleep: @escaping @Sendable (Duration) async -> Bool
    ) {
        self.token = token
        self.endpoint = endpoint
        self.clock = clock
        self.sleep = sleep
        self.firstAttempt = firstAttempt
        self.isUnanswered = isUnanswered
        began = clock.bootTime()
    }

    /// Sends the requests.
    ///
    /// - Parameter isCurrent: Returns whether the token is still the stored one.
    /// - Returns: What they led to.
    mutating func run(isCurrent: () async -> Bool) async -> Result {
        var waits = Self.waits[...]
        var refusal: TokenErrorResponse?
        while true {
            let sent = ClockStamp(clock)
            switch await ask() {
            case .notSent(let error): return .refused(error)
            case .unanswered(let error):
                isUnanswered = true
                guard await pause(waits.popFirst(), atLeast: error.retryAfter) else {
                    return .uncertain(error)
                }
            case .judged(.success(let response)): return .answer(response, sent: sent)
            case .judged(.uncertain(let wait)):
                isUnanswered = true
                guard await pause(waits.popFirst(), atLeast: wait) else {
                    return .uncertain(Self.unreachable(wait))
                }
            case .judged(.refused(let answer)):
                // Something in front of the server may have answered after the server spent the token.
                if !Self.isVerdict(answer) { isUnanswered = true }
                return .refused(Self.refused(answer))
            case .judged(.revokedCandidate(let answer)):
                guard await isCurrent() else { return .superseded }
                guard !isUnanswered else { return .lost(GrantRecord.lost(answer.error)) }
                if let refusal {
                    let isSame = refusal.error.hasSameBytes(as: answer.error)
                    guard isSame else { return .refused(Self.refused(answer)) }
                    return .revoked(GrantRecord.revoked(answer.error))
                }
                refusal = answer
                guard await pause(Self.confirmationWait, atLeast: nil) else {
                    return .refused(Self.refused(answer))
                }
                guard await isCurrent() else { return .superseded }
            }
        }
    }

    /// Waits before the next request. Returns `false` if there must be none: the repetitions or the time are
    /// used up, or the task was cancelled.
    private func pause(_ wait: Duration?, atLeast least: Duration?) async -> Bool {
        guard let wait, !Task.isCancelled else { return false }
        let whole = max(wait, least ?? .zero)
        guard clock.bootTime() - began + whole < Self.limit else { return false }
        return await sleep(whole)
    }

    private mutating func ask() async -> Verdict {
        count += 1
        let attempt = firstAttempt + count - 1
        let (token, endpoint) = (token, endpoint)
        // A task of its own: a caller that is cancelled must not interrupt the answer with the next token.
        let task = Task { () async -> Verdict in
            do throws(CofferError) {
                let copy = try token.guardedCopy()
                return .judged(try await endpoint.refresh(copy, attempt: attempt))
            } catch {
                return Self.isUnsent(error) ? .notSent(error) : .unanswered(error)
            }
        }
        let rest = Self.limit - (clock.bootTime() - began)
        let timer = Task {
            try? await Task.sleep(for: rest, clock: .continuous)
            if !Task.isCancelled { task.cancel() }
        }
        let verdict = await task.value
        timer.cancel()
        // Nobody but the timer cancels the task: the server did not answer in time.
        if case .unanswered(let error) = verdict, error.code == .cancelled {
            return .unanswered(Self.unreachable(nil))
        }
        return verdict
    }

    /// The codes of the errors for which a server spends no refresh token (RFC 6749 section 5.2, RFC 9449).
    private static let verdicts = [
        "invalid_request", "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope",
        "invalid_dpop_proof", "use_dpop_nonce",
    ]

    /// Whether an answer is the server's own verdict on the request, so that the token is not spent.
    private static func isVerdict(_ answer: TokenErrorResponse?) -> Bool {
        answer?.isOne(of: verdicts) == true
    }

    /// Whether an error says that no request left this machine.
    private static func isUnsent(_ error: CofferError) -> Bool {
        switch error.code {
        case .certificateRefused, .hostRefused, .invalidInput, .locked, .wiped, .absent, .corrupt,
            .unsupported:
            true
        default: false
        }
    }

    private static func unreachable(_ wait: Duration?) -> CofferError {
        CofferError(
            .serverUnreachable, "The server did not answer the request for new tokens. Try again later.",
            retryAfter: wait)
    }

    private static func refused(_ answer: TokenErrorResponse?) -> CofferError {
        CofferError(
            .serverRefused, answer?.message ?? "The server refused the request for new tokens.",
            serverCode: answer?.error)
    }
}
