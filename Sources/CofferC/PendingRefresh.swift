import Coffer
import CofferBase
import Dispatch
import FoundationEssentials
import Synchronization

/// A token's renewal that a C caller carries out at the issuer, between two calls.
///
/// The library renews a token in one call with a closure. This object runs that call in a task, whose closure
/// hands over the present token and waits for the caller's second call.
final class PendingRefresh: Sendable {
    /// The answer that the second call gives.
    enum Answer: Sendable {
        case renewed(Token, expires: Date?)
        case abandoned
        case revoked
    }

    /// Where the closure is.
    private enum State {
        case waiting
        case offered(CheckedContinuation<Answer, Never>)
        case answered(Answer)
    }

    let vault: OpenVault
    private let state = Mutex(State.waiting)
    private let task = Mutex<Task<Result<RefreshResult?, CofferError>, Never>?>(nil)

    private init(_ vault: OpenVault) { self.vault = vault }

    /// Whether this object's renewal waits for its caller, or what came instead.
    enum Beginning: Sendable {
        case exchange(PendingRefresh, Token)
        case renewedByOther(Token)
    }

    /// Begins a renewal. Returns as soon as the caller has to exchange the token, or if another has done so.
    ///
    /// - Throws: `absent` if there is no such token; the errors of `TokenStore.refresh`.
    static func begin(_ id: TokenID, in open: OpenVault, deadline: Duration) throws(CofferError) -> Beginning
    {
        let refresh = PendingRefresh(open)
        let beginning = AsyncStream<Token>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let task = Task.detached { () -> Result<RefreshResult?, CofferError> in
            do throws(CofferError) {
                let result = try await refresh.run(id, deadline) { beginning.continuation.yield($0) }
                beginning.continuation.finish()
                return .success(result)
            } catch {
                beginning.continuation.finish()
                return .failure(error)
            }
        }
        refresh.task.withLock { $0 = task }
        do throws(CofferError) {
            return try Call.wait(deadline + .seconds(5), in: open) {
                () async throws(CofferError) -> Beginning in
                for await token in beginning.stream { return .exchange(refresh, token) }
                if Task.isCancelled { task.cancel() }
                guard let result = try await task.value.get() else { throw CofferError.absentToken }
                return .renewedByOther(result.token)
            }
        } catch {
            refresh.answer(.abandoned)
            throw error
        }
    }

    private func run(
        _ id: TokenID, _ deadline: Duration, offering: @escaping @Sendable (Token) -> Void
    ) async throws(CofferError) -> RefreshResult? {
        do {
            return try await vault.vault.tokens.refresh(id, deadline: deadline) { [self] current, _ in
                offering(current)
                switch await answer() {
                case .renewed(let token, let expires): return RefreshResponse(token, expires: expires)
                case .abandoned:
                    throw CofferError(.cancelled, "The renewal was abandoned; the old token stays.")
                case .revoked: throw CofferError(.tokenRevoked, "The issuer has revoked the token.")
                }
            }
        } catch let error as CofferError {
            throw error
        } catch {
            throw CofferError(.internalFailure, "The renewal failed unexpectedly.")
        }
    }

    /// Waits for the caller; ends as abandoned if the deadline cancels the exchange.
    private func answer() async -> Answer {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let early = state.withLock { state -> Answer? in
                    if case .answered(let answer) = state { return answer }
                    state = .offered(continuation)
                    return nil
                }
                if let early { continuation.resume(returning: early) }
            }
        } onCancel: {
            answer(.abandoned)
        }
    }

    /// Passes the caller's answer on. Only the first one counts.
    private func answer(_ new: Answer) {
        let waiting = state.withLock { state -> CheckedContinuation<Answer, Never>? in
            switch state {
            case .answered: return nil
            case .waiting:
                state = .answered(new)
                return nil
            case .offered(let continuation):
                state = .answered(new)
                return continuation
            }
        }
        waiting?.resume(returning: new)
    }

    /// Ends the renewal and waits until its outcome is on the disk.
    func finish(_ new: Answer) throws(CofferError) -> RefreshResult? {
        answer(new)
        guard let task = task.withLock({ $0 }) else { return nil }
        return try Call.wait(vault.timeout) { () async throws(CofferError) in try await task.value.get() }
    }
}
