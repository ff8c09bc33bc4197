// snippet: fileArchive
import Coffer
import SystemPackage

struct DocumentArchive {
    let vault: Vault

    func add(_ path: FilePath) async throws -> FileID {
        try await vault.files.add(contentsOf: path)
    }

    func find(_ name: FilePath.Component) async throws -> FileID? {
        try await vault.files.list().last { $0.name == name }?.id
    }

    func length(of file: FileID) async throws -> Int64 {
        try await vault.files.info(for: file).length
    }

    func show(_ file: FileID, in viewer: (FilePath) async throws -> Void) async throws {
        try await vault.files.withViewCopy(of: file) { path in try await viewer(path) }
    }

    func export(_ file: FileID, to path: FilePath) async throws {
        try await vault.files.export(file, to: path)
    }

    func remove(_ file: FileID) async throws -> Bool {
        try await vault.files.remove(file)
    }
}
// snippet end
