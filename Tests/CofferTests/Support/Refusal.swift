import Coffer
import CofferBase
import Testing

/// The error that `body` fails with; `nil` when it succeeds.
func refusal(_ body: () async throws -> Void) async -> CofferError? {
    do {
        try await body()
        return nil
    } catch {
        guard let error = error as? CofferError else {
            Issue.record("not a CofferError: \(error)")
            return nil
        }
        return error
    }
}

/// Tries a passcode.
func refusal(of passcode: String, by session: Vault) async -> CofferError? {
    await refusal { try await session.unlock(with: Passcode(copying: passcode)) }
}
