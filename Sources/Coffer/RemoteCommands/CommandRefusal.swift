import CofferBase

/// A vault's refusal to accept a command, with the reason. A refusal concerns the command itself. Any other
/// error is a failure, which says nothing about the command, so the command is tried again.
struct CommandRefusal: Error {
    let reason: CofferError

    init(_ reason: CofferError) { self.reason = reason }

    init(_ code: CofferError.Code, _ message: String) { reason = CofferError(code, message) }
}

extension Result where Failure == CommandRefusal {
    /// Returns the success value, or throws the refusal's reason.
    func orThrow() throws(CofferError) -> Success {
        switch self {
        case .success(let success): return success
        case .failure(let refusal): throw refusal.reason
        }
    }
}
