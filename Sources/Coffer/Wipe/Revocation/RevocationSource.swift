public import CofferBase

/// Where word of revocations comes from: a server that is asked, a directory, whatever a program has. The
/// library itself has no network code.
///
/// Give a source to ``Session/handleRevocations(from:onRevocation:)`` or
/// ``Session/followRevocations(from:every:onRevocation:_:)``. A source may tell the same order again: a vault
/// takes it once.
public protocol RevocationSource: Sendable {
    /// What has come in since the last call; nothing is the usual answer. Keep a deadline.
    func poll() async throws(CofferError) -> [Revocation]
}
