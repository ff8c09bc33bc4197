import CofferEngine
import Dispatch
import Testing

@Suite("Background tasks")
struct BackgroundTaskTests {
    @Test("A background task runs while every thread of the task pool is blocked", .timeLimit(.minutes(10)))
    func runsWhileAllOtherTasksAreBlocked() async {
        let reached = DispatchSemaphore(value: 0)
        let count = 32
        let freed = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<count {
                group.addTask {
                    BlockedTask.wait(reached)
                    return 1
                }
            }
            let watch = BackgroundTask.start {
                try? await Task.sleep(for: .milliseconds(20))
                for _ in 0..<count { reached.signal() }
            }
            await watch.value
            return await group.reduce(0, +)
        }
        #expect(freed == count)
    }
}

private enum BlockedTask {
    /// Blocks the thread, which a task should not do.
    static func wait(_ semaphore: DispatchSemaphore) { semaphore.wait() }
}
