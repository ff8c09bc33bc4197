import CofferBase
import SystemPackage

/// The setup of a file benchmark: the store, a directory, a file of the right size, and its peers.
struct FileBench: Sendable {
    let name: String
    let store: FileStoreCalls
    let workspace: Workspace
    /// The file to seal.
    let plain: FilePath
    let size: Int
    /// A note if the file is smaller than the name promises.
    let note: String?

    /// Prepares everything; returns `nil`, with a line in the report, if something is missing.
    ///
    /// A quick run uses files of 64 MiB. A sparse file takes no memory itself.
    static func make(
        _ runner: Runner, _ name: String, size full: Int, sparse: Bool = false
    ) async throws(CofferError) -> FileBench? {
        let workspace = try runner.files()
        let size = runner.quick ? min(full, 64 << 20) : full
        guard let store = try await FileStoreCalls.make(in: workspace) else {
            runner.skip(name, peer: nil, reason: "the file store is not part of this build")
            return nil
        }
        // The plain file, our copy, their copy, and one more for the check.
        let needed = Int64(size) * (sparse ? 1 : 4) + Int64(256 << 20)
        guard workspace.available >= needed, (Machine.memory("MemAvailable") ?? 0) * 1024 >= needed else {
            runner.skip(name, peer: nil, reason: "needs \(needed >> 20) MiB of free memory")
            return nil
        }
        let plain = workspace.file("plain-\(size)\(sparse ? "-sparse" : "")")
        try workspace.fill(plain, size: size, sparse: sparse)
        let note = size == full ? nil : "quick: \(size >> 20) MiB"
        return FileBench(name: name, store: store, workspace: workspace, plain: plain, size: size, note: note)
    }

    /// Returns `age`, or adds a line to the report.
    func age(_ runner: Runner) throws(CofferError) -> AgePeer? {
        guard let age = try AgePeer.make(in: workspace) else {
            runner.skip(name, peer: "age", reason: "age or age-keygen is not in PATH")
            return nil
        }
        return age
    }

    /// Returns `cp`, or adds a line to the report.
    func copy(_ runner: Runner) -> CopyPeer? {
        guard let copy = CopyPeer.make() else {
            runner.skip(name, peer: "cp", reason: "cp is not in PATH")
            return nil
        }
        return copy
    }
}
