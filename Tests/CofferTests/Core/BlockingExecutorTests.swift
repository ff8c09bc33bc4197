@testable import Coffer
import CofferBase
import Synchronization
import Testing

@Suite("Work on threads of its own")
struct BlockingExecutorTests {
    private final class Count: Sendable {
        let value = Atomic(0)
    }

    /// What a piece of work captures, in place of a secret.
    private final class Captured: Sendable {
        private let released: Count

        init(_ released: Count) { self.released = released }

        deinit { released.value.add(1, ordering: .relaxed) }
    }

    private func use(_ captured: Captured) async throws(CofferError) {
        try await BlockingExecutor.run { _ throws(CofferError) in withExtendedLifetime(captured) {} }
    }

    @Test("When the caller goes on, the thread holds nothing that the work captured")
    func captured() async throws {
        let released = Count()
        for round in 1...300 {
            try await use(Captured(released))
            #expect(released.value.load(ordering: .relaxed) == round)
        }
    }
}
