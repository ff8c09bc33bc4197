import CofferEngine
import Synchronization

/// The values that this session stored while their class was locked, so that the program that rotates a token
/// reads its own newest one. In guarded memory, as long as they wait.
final class OwnPendingTokens: Sendable {
    struct Value: Sendable {
        let info: TokenInfo
        let token: Token
        /// The file in the inbox: once it is gone or another, the value waits no more.
        let file: PendingTokenQueue.Added
    }

    private let values = Mutex<[[UInt8]: Value]>([:])

    subscript(name: [UInt8]) -> Value? {
        get { values.withLock { $0[name] } }
        set { values.withLock { $0[name] = newValue } }
    }

    func clear() { values.withLock { $0 = [:] } }
}
