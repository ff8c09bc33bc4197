import CofferBase
import CofferCrypto
import CofferEngine
import CofferVault
import Foundation
import Synchronization
import SystemPackage
import TestSupport
import Testing

@Suite("The vault's exclusive lock")
struct ExclusiveLockTests {
    private final class Counter: Sendable {
        private let count = Atomic(0)
        var value: Int { count.load(ordering: .sequentiallyConsistent) }
        func add() { count.add(1, ordering: .sequentiallyConsistent) }
    }

    /// A program that stores tokens for weeks takes the lock millions of times.
    @Test("However often the lock is taken, the work at its end needs no more of the stack")
    func stack() async {
        await #expect(processExitsWith: .success) {
            let times = 20_000
            let scratch = try ScratchDirectory.make()
            let location = VaultLocation(path: scratch.path.appending("home"))
            var options = VaultOptions()
            options.cost = .floor
            _ = try VaultDirectory.create(at: location, options: options, passcode: nil) { _, _ in }
            let directory = try VaultDirectory.openDirectory(location)
            let calls = Counter()
            directory.beforeUnlocking { calls.add() }
            let outcome = AwaitedResult<Result<Bool, CofferError>>()
            let thread = Thread {
                do throws(CofferError) {
                    for _ in 0..<times { try directory.withExclusiveLock { () throws(CofferError) in } }
                    outcome.set(.success(true))
                } catch {
                    outcome.set(.failure(error))
                }
            }
            thread.stackSize = 256 << 10
            thread.start()
            let result = try #require(outcome.wait(.seconds(600)))
            #expect(try result.get() && calls.value == times)
        }
    }
}
