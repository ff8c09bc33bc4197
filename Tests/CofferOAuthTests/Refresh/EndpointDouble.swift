@testable import CofferOAuth
import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Synchronization

/// A server that rotates refresh tokens `r0`, `r1`, …: each is accepted once, and with grace once more.
final class EndpointDouble: TokenEndpoint {
    /// What happens to a request.
    enum Step: Sendable {
        /// It is answered.
        case answer
        /// It is answered without a new refresh token.
        case keep
        /// The server spends the token, and the answer is lost.
        case lostAnswer
        /// It does not arrive.
        case unreachable
        /// It is not sent.
        case unsent(CofferError)
        /// Something in front of the server answers.
        case verdict(RefreshVerdict)
        /// The server spends the token and sends this body, in which `$` is the new refresh token.
        case body(String)
        /// Something happens before the answer.
        case during(@Sendable () async -> Void)
    }

    private struct State {
        var number = 0
        var steps: [Step] = []
        var received: [String] = []
        var attempts: [Int] = []
    }

    private let hasGrace: Bool
    private let state = Mutex(State())

    init(hasGrace: Bool = true, _ steps: [Step] = []) {
        self.hasGrace = hasGrace
        state.withLock { $0.steps = steps }
    }

    /// The refresh tokens of the requests.
    var received: [String] { state.withLock { $0.received } }
    /// The numbers of the attempts.
    var attempts: [Int] { state.withLock { $0.attempts } }
    /// The only refresh token that the server accepts.
    var valid: String { state.withLock { "r\($0.number)" } }

    func then(_ steps: Step...) { state.withLock { $0.steps += steps } }

    func refresh(
        _ refreshToken: borrowing SecretBytes, attempt: Int
    ) async throws(CofferError) -> RefreshVerdict {
        let sent = refreshToken.exposing { String(decoding: $0.copied(), as: UTF8.self) }
        let step = state.withLock { state in
            state.received.append(sent)
            state.attempts.append(attempt)
            return state.steps.isEmpty ? Step.answer : state.steps.removeFirst()
        }
        switch step {
        case .answer: break
        case .keep: return try Self.success("{\"access_token\":\"kept\",\"token_type\":\"Bearer\"}")
        case .lostAnswer:
            _ = spend(sent)
            throw Self.cut
        case .unreachable: throw Self.cut
        case .unsent(let error): throw error
        case .verdict(let verdict): return verdict
        case .body(let body):
            guard let next = spend(sent) else { return try Self.invalidGrant() }
            let parts = body.split(separator: "$", omittingEmptySubsequences: false)
            return try Self.success(parts.joined(separator: next))
        case .during(let work): await work()
        }
        guard let next = spend(sent) else { return try Self.invalidGrant() }
        return try Self.success(Self.answer(next))
    }

    /// Returns the successor of a token; `nil` if the token is no longer accepted.
    private func spend(_ token: String) -> String? {
        state.withLock { state in
            if token == "r\(state.number)" {
                state.number += 1
            } else if !(hasGrace && token == "r\(state.number - 1)") {
                return nil
            }
            return "r\(state.number)"
        }
    }

    static let cut = CofferError(.serverUnreachable, "The connection was cut.")

    static func answer(_ refresh: String, life: Int = 3600) -> String {
        "{\"access_token\":\"a-\(refresh)\",\"token_type\":\"Bearer\",\"expires_in\":\(life),"
            + "\"refresh_token\":\"\(refresh)\"}"
    }

    /// An answer that leaves the refresh token as it is.
    static let keeping = #"{"access_token":"a-kept","token_type":"Bearer","expires_in":3600}"#

    static func success(_ body: String) throws(CofferError) -> RefreshVerdict {
        .success(try TokenResponse(body: Array(body.utf8).span))
    }

    static func invalidGrant() throws(CofferError) -> RefreshVerdict { try refusal("invalid_grant") }

    static func refusal(_ code: String) throws(CofferError) -> RefreshVerdict {
        guard let error = TokenErrorResponse(body: Array("{\"error\":\"\(code)\"}".utf8).span) else {
            throw CofferError(.invalidInput, "not a code")
        }
        return code == "invalid_grant" ? .revokedCandidate(error) : .refused(error)
    }
}
