public import CofferBase
public import SystemPackage

/// A decrypted copy in a directory in memory, which ``FileStore/withViewCopy(of:context:options:_:)`` passes
/// to its closure.
public struct ViewCopy: Sendable {
    /// The path of the copy, under the file's original name, in its own directory.
    public let path: FilePath

    /// Whether memory may be written to a swap device that keeps it readable.
    public let isSwappable: Bool

    let hold: ViewCopyHandle

    /// The number of the open file whose lock keeps the copy. While a child that inherited this descriptor
    /// lives, the copy is not removed when this process dies. Afterwards the next
    /// ``Vault/removeStaleViewCopies(at:)`` removes it.
    public var lease: Int32 { hold.leaseNumber }

    /// Whether the copy was changed, replaced or removed.
    public var isChanged: Bool { hold.isChanged }

    /// Releases this process's lease and reports whether another process still holds one, such as a viewer
    /// that moved to the background. Call this when the viewer that was started has ended.
    ///
    /// - Throws: The error that examining the lease fails with.
    public func isKeptByOthers() throws(CofferError) -> Bool { try hold.isKeptByOthers() }
}
