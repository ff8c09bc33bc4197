import CofferBase
import CofferEngine
import Dispatch
import Synchronization
import TestSupport
import Testing

@Suite("Threads")
struct ThreadsTests {
    private final class Counter: Sendable {
        private let count = Atomic(0)
        var value: Int { count.load(ordering: .sequentiallyConsistent) }
        func add(_ number: Int) { count.add(number, ordering: .sequentiallyConsistent) }
    }

    @Test("The call returns after every thread has ended", arguments: [0, 1, 2, 7])
    func everyThreadIsWaitedFor(count: Int) {
        let calls = Atomic(0)
        Threads.run(count) { calls.add(1, ordering: .relaxed) }
        #expect(calls.load(ordering: .relaxed) == max(count, 1))
    }

    /// They run side by side: each waits until all have begun. Called from a thread of its own, as all
    /// blocking work is.
    @Test("The threads run at the same time")
    func theyRunAtTheSameTime() async {
        let begun = Counter()
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "coffer.threads-test").async {
                let end = Clock.sinceBoot + .seconds(300)
                Threads.run(3) {
                    begun.add(1)
                    while begun.value < 3, Clock.sinceBoot < end { Clock.sleep(for: .milliseconds(1)) }
                }
                continuation.resume()
            }
        }
        #expect(begun.value == 3)
    }

    @Test("Work beside the caller's has ended when the call returns, also after an error")
    func workBeside() throws {
        let both = try Threads.run({ () throws(CofferError) in 1 }, beside: { 2 })
        #expect(both == (1, 2))
        let ended = Counter()
        let code = failure(of: {
            _ = try Threads.run(
                { () throws(CofferError) -> Int in throw CofferError(.cancelled, "Enough.") },
                beside: {
                    Clock.sleep(for: .milliseconds(20))
                    ended.add(1)
                })
        })
        #expect(code == .cancelled)
        #expect(ended.value == 1)
    }
}
