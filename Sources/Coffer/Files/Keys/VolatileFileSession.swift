import CofferEngine
import Synchronization

/// The place that keeps the key of a session-only file. The inner header's flags store the raw value.
package enum VolatileFileKeeper: UInt32, Sendable {
    /// The kernel keyring, where the same user's later processes find the key.
    case kernelKeyring = 2
    /// The memory of the process that added the file, which holds a lock on the container.
    case process = 6
}

/// The key that wraps the inner file keys of one class's session-only files.
final class VolatileFileSession: Sendable {
    /// A container that this process keeps open and locked.
    private final class HeldFile: Sendable {
        private let file: Descriptor

        init(_ file: consuming Descriptor) { self.file = file }
    }

    let kek: FileKEK
    private let files = Mutex<[FileID: HeldFile]>([:])

    init(_ kek: FileKEK) { self.kek = kek }

    /// Keeps a locked container open until the session ends, so that other processes see that its key exists.
    func hold(_ id: FileID, _ file: consuming Descriptor) {
        let held = HeldFile(file)
        files.withLock { $0[id] = held }
    }

    /// Closes a container that was removed.
    func release(_ id: FileID) { files.withLock { $0[id] = nil } }
}
