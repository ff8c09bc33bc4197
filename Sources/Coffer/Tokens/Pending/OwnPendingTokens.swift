import CofferEngine
import Synchronization

/// The pending values that this vault object stored while their class was locked. They are kept in guarded
/// memory, so a program that rotates a token can read its own latest value.
final class OwnPendingTokens: Sendable {
    struct Value: Sendable {
        let info: TokenInfo
        let token: Token
        /// The value's file in the queue. Once the file is removed or replaced, the value is no longer
        /// pending.
        let file: PendingTokenQueue.Added
    }

    private let values = Mutex<[[UInt8]: Value]>([:])

    subscript(name: [UInt8]) -> Value? {
        get { values.withLock { $0[name] } }
        set { values.withLock { $0[name] = newValue } }
    }

    func clear() { values.withLock { $0 = [:] } }
}
