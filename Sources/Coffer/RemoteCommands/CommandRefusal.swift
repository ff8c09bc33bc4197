import CofferBase

/// Why a vault does not accept a command. Only verification creates a refusal. Any other error is a failure,
/// which means nothing about the command; the command is tried again.
struct CommandRefusal: Error {
    let reason: CofferError

    init(_ reason: CofferError) { self.reason = reason }

    init(_ code: CofferError.Code, _ message: String) { reason = CofferError(code, message) }
}

extension Result where Failure == CommandRefusal {
    /// Returns the success, or throws the refusal like any other error.
    func orThrow() throws(CofferError) -> Success {
        switch self {
        case .success(let success): return success
        case .failure(let refusal): throw refusal.reason
        }
    }
}
