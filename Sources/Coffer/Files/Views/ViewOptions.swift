/// Options for a decrypted copy.
public struct ViewOptions: Sendable {
    /// The time after which the copy is removed even if it is still being viewed. With `nil`, it is removed
    /// when the viewing ends, or with a lock.
    public var limit: Duration?

    /// Creates the default options: no limit.
    public init() {}
}
