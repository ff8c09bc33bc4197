import CofferBase
import SystemPackage

/// The file store as the benchmarks call it: one closure for each thing that is measured.
struct FileStoreCalls: Sendable {
    /// Seals the file at the first path into the second, which does not exist yet.
    let seal: @Sendable (_ source: FilePath, _ target: FilePath) async throws(CofferError) -> Void

    /// Opens the sealed file at the first path into the second, which does not exist yet.
    let open: @Sendable (_ sealed: FilePath, _ target: FilePath) async throws(CofferError) -> Void

    /// Opens a sealed file for reading at any place and gives what reads there.
    let reader: @Sendable (_ sealed: FilePath) async throws(CofferError) -> Reader

    /// Lends a view copy of a sealed file to the closure and takes it away again.
    let withViewCopy:
        @Sendable (_ sealed: FilePath, _ use: @Sendable (FilePath) async throws(CofferError) -> Void)
            async throws(CofferError) -> Void

    /// Gives so many bytes at an offset.
    typealias Reader = @Sendable (_ offset: Int64, _ count: Int) async throws(CofferError) -> [UInt8]

    /// The store of this package, with a home in the workspace; `nil` where it has none to offer.
    static func make(in workspace: Workspace) async throws(CofferError) -> FileStoreCalls? { nil }
}
