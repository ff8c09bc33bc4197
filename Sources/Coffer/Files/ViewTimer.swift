import Dispatch

/// The end of the time for which a copy is lent.
enum ViewTimer {
    /// Calls `body` on a queue of its own when `limit` is over.
    static func after(_ limit: Duration, _ body: @escaping @Sendable () -> Void) {
        let seconds = min(max(limit / .seconds(1), 0), 1e9)
        DispatchQueue(label: "coffer.view-limit").asyncAfter(deadline: .now() + seconds, execute: body)
    }
}
