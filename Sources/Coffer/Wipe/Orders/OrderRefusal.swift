import CofferBase

/// Why a vault does not take an order. Only what judges orders makes one: whatever else goes wrong with an
/// order is a failure, which says nothing of the order, and it is tried again.
struct OrderRefusal: Error {
    let reason: CofferError

    init(_ reason: CofferError) { self.reason = reason }

    init(_ code: CofferError.Code, _ message: String) { reason = CofferError(code, message) }
}

extension Result where Failure == OrderRefusal {
    /// The same for callers to whom a refusal is an error like others.
    func orThrow() throws(CofferError) -> Success {
        switch self {
        case .success(let success): return success
        case .failure(let refusal): throw refusal.reason
        }
    }
}
