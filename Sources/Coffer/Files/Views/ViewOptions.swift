import Dispatch

/// Options for a decrypted copy.
public struct ViewOptions: Sendable {
    /// The time after which the copy is removed even if it is still being viewed. If this property is `nil`,
    /// the copy is removed only when the viewing ends or the vault locks.
    public var limit: Duration?

    /// Creates options without a time limit.
    public init() {}

    /// Calls `body` on a separate queue when the limit expires. Does nothing if there is no limit.
    func afterLimit(_ body: @escaping @Sendable () -> Void) {
        guard let limit else { return }
        let seconds = min(max(limit / .seconds(1), 0), 1e9)
        DispatchQueue(label: "coffer.view-limit").asyncAfter(deadline: .now() + seconds, execute: body)
    }
}
