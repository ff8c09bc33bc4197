import Coffer
import CofferBase
import SystemPackage

/// A view copy that stays until ``end()``, so that its creation and its removal can be timed separately.
final class BenchViewCopy: Sendable {
    let path: FilePath
    private let viewing: Task<Void, any Error>
    private let release: AsyncStream<Void>.Continuation

    /// Returns when the copy is complete.
    init(of id: FileID, in files: FileStore) async throws(CofferError) {
        let (paths, made) = AsyncStream.makeStream(of: FilePath.self)
        let (ends, release) = AsyncStream.makeStream(of: Void.self)
        let viewing = Task {
            defer { made.finish() }
            try await files.withViewCopy(of: id) { path in
                made.yield(path)
                for await _ in ends {}
            }
        }
        var path: FilePath?
        for await made in paths {
            path = made
            break
        }
        guard let path else {
            try await Self.finish(viewing)
            throw CofferError(.internalFailure, "There is no view copy.")
        }
        (self.path, self.viewing, self.release) = (path, viewing, release)
    }

    /// Removes the copy; returns when it is gone.
    func end() async throws(CofferError) {
        release.finish()
        try await Self.finish(viewing)
    }

    private static func finish(_ viewing: Task<Void, any Error>) async throws(CofferError) {
        do {
            try await viewing.value
        } catch let error as CofferError {
            throw error
        } catch {
            throw CofferError(.internalFailure, "Viewing failed.")
        }
    }
}
