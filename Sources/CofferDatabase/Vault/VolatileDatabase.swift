import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import CofferEngineSQLite
import Synchronization
import SystemPackage

/// A session-only database: a key that exists only in guarded memory, and a directory that contains the
/// database's files until the session ends.
final class VolatileDatabase: Sendable {
    /// The database's key and directory, which exist until the session ends.
    private final class Content: Sendable {
        let key: SecretBytes
        /// `nil` for a database that other processes share: its files stay when this process ends.
        let directory: VolatileDatabaseDirectory?

        init(_ key: consuming SecretBytes, _ directory: VolatileDatabaseDirectory?) {
            self.key = key
            self.directory = directory
        }
    }

    private struct State {
        /// `nil` once the session has ended.
        var content: Content?
        /// The handles that connections may use. Each closure returns `nil` once its handle is gone.
        var handles: [@Sendable () -> DatabaseKeyHandle?] = []
    }

    let protection: ProtectionClass
    /// The path of the database's file.
    let path: FilePath
    private let state: Mutex<State>

    /// Creates a key, and a directory for a database with the given file name.
    init(
        _ file: String, class protection: ProtectionClass, in vault: borrowing Descriptor
    ) throws(CofferError) {
        let key = try SecretBytes.random(count: 32)
        let directory = try VolatileDatabaseDirectory.make(in: vault)
        path = directory.path.appending(file)
        self.protection = protection
        state = Mutex(State(content: Content(key, directory)))
    }

    /// Takes over a database that this user's processes share.
    init(_ shared: SharedDatabase) throws(CofferError) {
        let key = try shared.key.exposing { (bytes) throws(CofferError) in try SecretBytes.copying(bytes) }
        path = shared.path
        protection = shared.protection
        state = Mutex(State(content: Content(key, nil)))
    }

    deinit { end() }

    /// Registers the key for new connections.
    ///
    /// - Throws: `locked` if the session has ended.
    func handle() throws(CofferError) -> DatabaseKeyHandle {
        guard let content = state.withLock({ $0.content }) else { throw Self.endedError }
        let secret = try content.key.exposing { (bytes) throws(CofferError) in
            try SecretBytes.copying(bytes)
        }
        let handle = try DatabaseKey.raw(secret).handle()
        let isCurrent = state.withLock { state in
            state.handles.removeAll { $0() == nil }
            state.handles.append { [weak handle] in handle }
            return state.content != nil
        }
        guard isCurrent else {
            handle.revoke()
            throw Self.endedError
        }
        return handle
    }

    static var endedError: CofferError {
        CofferError(
            .locked,
            "The vault was locked while the database was being opened. Unlock the vault, then try again.")
    }

    /// Ends the session in this process: revokes the key of every connection, drops the key, and removes the
    /// files, unless other processes share them.
    func end() {
        let (content, handles) = state.withLock { state in
            defer { state = State() }
            return (state.content, state.handles)
        }
        // The keys first: a connection must find no missing file before it finds no key.
        for handle in handles { handle()?.revoke() }
        content?.directory?.remove()
    }
}
