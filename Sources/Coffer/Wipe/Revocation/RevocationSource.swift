public import CofferBase

/// Where word of revocations comes from: a server that is asked, a directory, whatever a program has. The
/// library itself has no network code.
///
/// Give a source to ``Vault/handleRevocations(from:onRevocation:)`` or
/// ``Vault/followRevocations(from:every:onRevocation:_:)``. A source may tell the same order again: a vault
/// takes it once.
public protocol RevocationSource: Sendable {
    /// What has come in since the last call; nothing is the usual answer. Keep a deadline.
    func poll() async throws(CofferError) -> [Revocation]

    /// Whether the next ``poll()`` tells again what was not ``settled(_:)``. Where it does not, as by
    /// default, ``Vault/followRevocations(from:every:onRevocation:_:)`` keeps it and tries it again.
    var repeatsUnsettled: Bool { get }

    /// Called with each revocation whose outcome is final: it need not be told again. By default nothing
    /// happens.
    ///
    /// Not final is an order that is not valid yet, or that a later change can make valid
    /// (``RevocationOutcome/isFinal``), and one whose handling failed.
    func settled(_ revocation: Revocation) async
}

extension RevocationSource {
    /// No: what was told is not told again.
    public var repeatsUnsettled: Bool { false }

    /// Nothing happens.
    public func settled(_ revocation: Revocation) async {}
}
