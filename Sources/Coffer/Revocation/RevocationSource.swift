public import CofferBase

/// A source of revocations, such as a server that is polled or a directory. The library itself has no network
/// code.
///
/// Pass a source to ``Vault/handleRevocations(from:onRevocation:)`` or
/// ``Vault/followRevocations(from:every:onRevocation:_:)``. A source may report the same order again: a
/// vault accepts it once.
public protocol RevocationSource: Sendable {
    /// Returns the revocations since the last call, usually none. Implementations should use a time limit.
    func poll() async throws(CofferError) -> [Revocation]

    /// Whether the next ``poll()`` reports revocations again that were not passed to ``didHandle(_:)``. If
    /// not, which is the default, ``Vault/followRevocations(from:every:onRevocation:_:)`` keeps them and
    /// tries them again.
    var repeatsUnhandled: Bool { get }

    /// Called with each revocation whose outcome is final, so it need not be reported again. The default
    /// implementation does nothing.
    ///
    /// The outcome is not final for an order that is not valid yet, or that a later change can make valid
    /// (``RevocationOutcome/isFinal``), and for one that failed.
    func didHandle(_ revocation: Revocation) async
}

extension RevocationSource {
    /// The default: reported revocations are not reported again.
    public var repeatsUnhandled: Bool { false }

    /// The default: does nothing.
    public func didHandle(_ revocation: Revocation) async {}
}
