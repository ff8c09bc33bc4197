import Coffer
import CofferBase
import Synchronization

/// A vault that a C program has open, with the calls that run.
final class OpenVault: Sendable {
    private struct Calls {
        var next = 0
        var cancellations: [Int: @Sendable () -> Void] = [:]
    }

    let vault: Vault
    private let calls = Mutex(Calls())
    private let milliseconds: Atomic<UInt32>

    init(_ vault: Vault) {
        self.vault = vault
        milliseconds = Atomic(Call.defaultTimeout.load(ordering: .relaxed))
    }

    /// The deadline of each call.
    var timeout: Duration { .milliseconds(milliseconds.load(ordering: .relaxed)) }

    func setTimeout(_ new: UInt32) { milliseconds.store(new, ordering: .relaxed) }

    /// Notes a running call. Returns its number.
    func begin(_ cancel: @escaping @Sendable () -> Void) -> Int {
        calls.withLock { calls in
            calls.next += 1
            calls.cancellations[calls.next] = cancel
            return calls.next
        }
    }

    func end(_ number: Int) {
        calls.withLock { calls in _ = calls.cancellations.removeValue(forKey: number) }
    }

    /// Asks all running calls to stop.
    func cancelCalls() {
        for cancel in calls.withLock({ Array($0.cancellations.values) }) { cancel() }
    }

    /// Returns the vault of a handle.
    ///
    /// - Throws: `invalidInput` if the handle is not that of an open vault.
    static func of(_ handle: OpaquePointer?) throws(CofferError) -> OpenVault {
        guard let found = unsafe Handles.vaults.find(handle) else {
            throw CofferError(
                .invalidInput, "The handle is not that of an open vault. It may have been closed before.")
        }
        return found
    }

    /// Does asynchronous work with the vault and blocks the calling thread until it is done.
    func wait<Value: Sendable>(
        for work: @escaping @Sendable (Vault) async throws(CofferError) -> Value
    ) throws(CofferError) -> Value {
        try Call.wait(timeout, in: self) { [vault] () async throws(CofferError) in try await work(vault) }
    }
}
