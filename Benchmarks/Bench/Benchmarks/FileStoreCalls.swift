import Coffer
import CofferBase
import Synchronization
import SystemPackage

/// The file store as the benchmarks call it: one closure per measured operation. The store finds files by id;
/// here they are named by paths in the workspace, like those of the peers.
struct FileStoreCalls: Sendable {
    /// Seals the file at the first path; the second is the name of the sealed file from then on.
    let seal: @Sendable (_ source: FilePath, _ name: FilePath) async throws(CofferError) -> Void

    /// Opens the sealed file of that name into the second path, which does not exist yet.
    let open: @Sendable (_ sealed: FilePath, _ target: FilePath) async throws(CofferError) -> Void

    /// Removes the sealed file of that name, if there is one.
    let discard: @Sendable (_ sealed: FilePath) async throws(CofferError) -> Void

    /// Rewraps the keys of the sealed file of that name.
    let rewrap: @Sendable (_ sealed: FilePath) async throws(CofferError) -> Void

    /// Lists every file and returns their number.
    let list: @Sendable () async throws(CofferError) -> Int

    /// Opens a sealed file for random access and returns its reader.
    let reader: @Sendable (_ sealed: FilePath) async throws(CofferError) -> Reader

    /// Returns a view copy of a sealed file, which stays until it is ended.
    let view: @Sendable (_ sealed: FilePath) async throws(CofferError) -> BenchViewCopy

    /// Returns this many bytes at an offset.
    typealias Reader = @Sendable (_ offset: Int64, _ count: Int) async throws(CofferError) -> [UInt8]

    /// The ids of the sealed files, by name.
    private final class Names: Sendable {
        private let ids = Mutex<[FilePath: FileID]>([:])

        func set(_ id: FileID?, for name: FilePath) { ids.withLock { $0[name] = id } }

        func find(_ name: FilePath) -> FileID? { ids.withLock { $0[name] } }

        func id(of name: FilePath) throws(CofferError) -> FileID {
            guard let id = find(name) else { throw CofferError(.absent, "\(name) was not sealed.") }
            return id
        }
    }

    /// The store of this package, with a vault in the workspace.
    static func make(in workspace: Workspace) async throws(CofferError) -> FileStoreCalls? {
        let location = VaultLocation(path: workspace.file("home"))
        let session: Vault
        do throws(CofferError) {
            session = try await Vault.create(at: location, passcode: nil)
        } catch {
            guard error.code == .alreadyExists else { throw error }
            session = try await Vault(at: location)
            try await session.unlock()
        }
        let files = session.files
        let names = Names()
        return FileStoreCalls(
            seal: { (source, name) async throws(CofferError) in
                names.set(try await files.add(contentsOf: source), for: name)
            },
            open: { (name, target) async throws(CofferError) in
                try await files.export(names.id(of: name), to: target)
            },
            discard: { (name) async throws(CofferError) in
                guard let id = names.find(name) else { return }
                try await files.remove(id)
                names.set(nil, for: name)
            },
            rewrap: { (name) async throws(CofferError) in try await files.rewrap(names.id(of: name)) },
            list: { () async throws(CofferError) in try await files.list().count },
            reader: { (name) async throws(CofferError) in
                let reader = try await files.reader(for: names.id(of: name))
                return { (offset, count) throws(CofferError) in try reader.read(at: offset, count: count) }
            },
            view: { (name) async throws(CofferError) in
                try await BenchViewCopy(of: names.id(of: name), in: files)
            })
    }
}
