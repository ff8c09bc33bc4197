public import CofferBase
public import SystemPackage

/// A decrypted copy in a directory in memory, as ``FileStore/withViewCopy(of:context:options:_:)`` lends it.
public struct ViewCopy: Sendable {
    /// Where it is, under the file's original name, in a directory of its own.
    public let path: FilePath

    /// Whether memory may be written to a swap device that keeps it readable.
    public let isSwappable: Bool

    let hold: ViewCopyHandle

    /// The number of the open file whose lock keeps the copy. A child that inherits this descriptor keeps the
    /// copy, as long as it lives, from being removed when this process dies; afterwards the next
    /// ``Vault/removeStaleViewCopies(at:)`` removes it.
    public var lease: Int32 { hold.leaseNumber }

    /// Whether somebody wrote to the copy, replaced it or removed it.
    public var isChanged: Bool { hold.isChanged }

    /// Gives this process's share of the lease up and says whether another process has one still: a viewer
    /// that went on in the background. To be asked when the viewer that was started has ended.
    ///
    /// - Throws: What hinders looking.
    public func isKeptByOthers() throws(CofferError) -> Bool { try hold.isKeptByOthers() }
}
