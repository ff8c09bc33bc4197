import Dispatch

/// The time limit of a decrypted copy.
enum ViewTimer {
    /// Calls `body` on a separate queue when `limit` has passed.
    static func after(_ limit: Duration, _ body: @escaping @Sendable () -> Void) {
        let seconds = min(max(limit / .seconds(1), 0), 1e9)
        DispatchQueue(label: "coffer.view-limit").asyncAfter(deadline: .now() + seconds, execute: body)
    }
}
