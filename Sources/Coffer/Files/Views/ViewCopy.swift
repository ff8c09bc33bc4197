public import CofferBase
public import SystemPackage

/// A decrypted copy in an in-memory directory, which ``FileStore/withViewCopy(of:context:options:_:)`` passes
/// to its closure.
public struct ViewCopy: Sendable {
    /// The copy's path, which consists of a separate directory and the file's name.
    public let path: FilePath

    /// Whether the kernel may write the copy to a swap device that is neither in memory nor encrypted.
    public let isSwappable: Bool

    let handle: ViewCopyHandle

    /// The descriptor number of the open file whose lock prevents the removal of the copy by other processes.
    /// If this process dies while a child process that inherited the descriptor is running, the copy remains.
    /// After the child process has exited, the next call to ``Vault/removeStaleViewCopies(at:)`` removes the
    /// copy.
    public var lease: Int32 { handle.leaseNumber }

    /// Whether another program changed, replaced or removed the copy. Revocation of the copy does not count
    /// as a change.
    public var isChanged: Bool { handle.isChanged }

    /// Returns whether another process, such as a viewer that moved to the background, still holds the lease.
    /// If so, this process releases its own hold on the lease. Call this method after the viewer that you
    /// started has exited.
    ///
    /// - Throws: The underlying error if the lease cannot be examined.
    public func isKeptByOthers() throws(CofferError) -> Bool { try handle.isKeptByOthers() }
}
