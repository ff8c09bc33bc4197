import CofferEngine
import Dispatch
import Testing

@Suite struct BackgroundTaskTests {
    /// Every thread that tasks run on waits for the watch, and it comes all the same.
    @Test(.timeLimit(.minutes(10))) func runsWhileAllOtherTasksAreBlocked() async {
        let reached = DispatchSemaphore(value: 0)
        let count = 32
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                group.addTask { BlockedTask.wait(reached) }
            }
            let watch = BackgroundTask.start {
                try? await Task.sleep(for: .milliseconds(20))
                for _ in 0..<count { reached.signal() }
            }
            await group.waitForAll()
            await watch.value
        }
    }
}

private enum BlockedTask {
    /// Blocks the thread, which a task should not do.
    static func wait(_ semaphore: DispatchSemaphore) { semaphore.wait() }
}
