/// How a decrypted copy is lent.
public struct ViewOptions: Sendable {
    /// After so long the copy goes, whoever still views it; `nil`: when the viewing ends, or with a lock.
    public var limit: Duration?

    /// The defaults: no limit.
    public init() {}
}
