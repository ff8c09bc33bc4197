public import CofferBase

/// A source of revocations, such as a server that is polled or a directory. The library itself has no network
/// code.
///
/// Pass a source to ``Vault/handleRevocations(from:onRevocation:)`` or
/// ``Vault/followRevocations(from:every:onRevocation:_:)``. A source may report the same command more than
/// once, because a vault accepts each command only once.
public protocol RevocationSource: Sendable {
    /// Returns the revocations that have arrived since the last call, usually none. Implementations should
    /// use a time limit.
    func poll() async throws(CofferError) -> [Revocation]

    /// Whether the next ``poll()`` again reports revocations that were not passed to ``didHandle(_:)``. If
    /// this is `false`, which is the default, ``Vault/followRevocations(from:every:onRevocation:_:)`` keeps
    /// such revocations and tries them again.
    var repeatsUnhandled: Bool { get }

    /// Receives each revocation whose outcome is final. The source need not report such a revocation again.
    /// The default implementation does nothing.
    ///
    /// The outcome is not final for a command that is not valid yet, for a command that a later change can
    /// make valid (``RevocationOutcome/isFinal``), and for a revocation that failed.
    func didHandle(_ revocation: Revocation) async
}

extension RevocationSource {
    /// The default value, `false`, which means that reported revocations are not reported again.
    public var repeatsUnhandled: Bool { false }

    /// The default implementation, which does nothing.
    public func didHandle(_ revocation: Revocation) async {}
}
