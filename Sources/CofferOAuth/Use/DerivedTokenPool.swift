package import Coffer
import Synchronization

/// The derived tokens of one session. They are in memory only, and a lock of the vault drops them.
package final class DerivedTokenPool: Sendable {
    private struct Entry {
        let token: Token
        /// The time since boot at which the token expires.
        let end: Duration
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        var next = 0
    }

    private let state = Mutex(State())
    private let clock: VaultClock

    /// Creates a pool for a session in a vault.
    ///
    /// - Parameters:
    ///   - vault: The vault, whose lock drops the tokens.
    ///   - clock: The vault's clock.
    package init(_ vault: Vault, clock: VaultClock) {
        self.clock = clock
        vault.onKeyEviction(while: self, isForAnyLock: true) { [weak self] _ in self?.dropAll() }
    }

    /// Drops every token, as signing out does.
    package func dropAll() { state.withLock { $0.entries = [:] } }

    /// The time since boot.
    var now: Duration { clock.bootTime() }

    /// The date after a duration.
    func wallClock(after life: Duration) -> Duration { clock.wallClock() + life }

    /// Keeps a token until a time since boot. Returns its number.
    func keep(_ token: Token, until end: Duration) -> Int {
        let now = now
        return state.withLock { state in
            state.entries = state.entries.filter { $0.value.end > now }
            state.next += 1
            state.entries[state.next] = Entry(token: token, end: end)
            return state.next
        }
    }

    /// Returns a token; `nil` if it has expired or was dropped.
    func token(_ number: Int) -> Token? {
        let now = now
        return state.withLock { state in
            guard let entry = state.entries[number] else { return nil }
            guard entry.end > now else {
                state.entries[number] = nil
                return nil
            }
            return entry.token
        }
    }

    func drop(_ number: Int) { state.withLock { $0.entries[number] = nil } }
}
