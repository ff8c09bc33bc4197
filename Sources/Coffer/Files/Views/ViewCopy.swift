public import CofferBase
public import SystemPackage

/// A decrypted copy in an in-memory directory, which ``FileStore/withViewCopy(of:context:options:_:)`` passes
/// to its closure.
public struct ViewCopy: Sendable {
    /// The copy's path: the file's original name in a separate directory.
    public let path: FilePath

    /// Whether the kernel may write the copy to a swap device that is neither in memory nor encrypted.
    public let isSwappable: Bool

    let handle: ViewCopyHandle

    /// The descriptor number of the open file whose lock keeps the copy. If this process dies while a child
    /// process that inherited the descriptor is running, the copy stays. After that child has exited, the
    /// next ``Vault/removeStaleViewCopies(at:)`` removes it.
    public var lease: Int32 { handle.leaseNumber }

    /// Whether another program changed, replaced or removed the copy. Revoking the copy does not count.
    public var isChanged: Bool { handle.isChanged }

    /// Releases this process's lease and reports whether another process still holds one, such as a viewer
    /// that moved to the background. Call this after the viewer that you started has exited.
    ///
    /// - Throws: The underlying error if the lease cannot be examined.
    public func isKeptByOthers() throws(CofferError) -> Bool { try handle.isKeptByOthers() }
}
