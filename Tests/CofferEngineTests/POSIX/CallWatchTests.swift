import CofferBase
import CofferEngine
import Synchronization
import Testing

/// Work on a mount that does not answer ends for the caller, and work that only takes long does not.
@Suite("Deadlines of calls")
struct CallWatchTests {
    private static let short = Duration.milliseconds(50)
    /// Far longer than the deadline, and an end for the thread if a test fails.
    private static let long = Duration.seconds(20)

    private func code(_ body: () throws(CofferError) -> Void) -> CofferError.Code? {
        do throws(CofferError) {
            try body()
            return nil
        } catch {
            return error.code
        }
    }

    @Test("The result and the error of the work pass")
    func passes() throws {
        let seven = try CallWatch.run(waitingFor: "it") { (watch) throws(CofferError) in
            try watch.call { () throws(CofferError) in 7 }
        }
        #expect(seven == 7)
        let failed = code { () throws(CofferError) in
            try CallWatch.run(waitingFor: "it") { (watch) throws(CofferError) in
                try watch.call { () throws(CofferError) in throw CofferError(.noSpace, "full") }
            }
        }
        #expect(failed == .noSpace)
    }

    @Test("A call that is not answered ends the wait, and the work stops when it is answered")
    func silent() throws {
        let answer = AwaitedResult<Void>()
        let ended = AwaitedResult<CofferError.Code?>()
        let begun = SuspendingClock.now
        let given = code { () throws(CofferError) in
            try CallWatch.run(waitingFor: "it", answerTime: Self.short) { (watch) throws(CofferError) in
                let stopped = code { () throws(CofferError) in
                    try watch.call { () throws(CofferError) in _ = answer.wait(Self.long) }
                }
                ended.set(stopped)
            }
        }
        #expect(given == .timedOut)
        #expect(SuspendingClock.now - begun >= Self.short)
        answer.set(())
        let stopped = try #require(ended.wait(Self.long))
        #expect(stopped == .cancelled)
    }

    @Test("What follows a call that was answered too late does not begin")
    func later() throws {
        let answer = AwaitedResult<Void>()
        let ended = AwaitedResult<[CofferError.Code?]>()
        let given = code { () throws(CofferError) in
            try CallWatch.run(waitingFor: "it", answerTime: Self.short) { (watch) throws(CofferError) in
                let outer = try watch.begin()
                _ = answer.wait(Self.long)
                watch.end(outer)
                let codes = [
                    code { () throws(CofferError) in _ = try watch.begin() },
                    code { () throws(CofferError) in _ = try watch.beginPause() },
                ]
                ended.set(codes)
            }
        }
        #expect(given == .timedOut)
        answer.set(())
        let codes = try #require(ended.wait(Self.long))
        #expect(codes == [.cancelled, .cancelled])
    }

    @Test("Work outside a call and inside a pause may take longer than a call")
    func pauses() throws {
        let never = AwaitedResult<Void>()
        let value = try CallWatch.run(waitingFor: "it", answerTime: Self.short) {
            (watch) throws(CofferError) in
            _ = never.wait(Self.short * 3)
            return try watch.call(within: Self.long) { () throws(CofferError) in
                let outer = try watch.beginPause()
                _ = never.wait(Self.short * 3)
                watch.end(outer)
                return 3
            }
        }
        #expect(value == 3)
    }

    @Test("The time of a call starts again after a call inside it")
    func nested() throws {
        let never = AwaitedResult<Void>()
        let value = try CallWatch.run(waitingFor: "it", answerTime: Self.long) {
            (watch) throws(CofferError) in
            try watch.call(within: .milliseconds(200)) { () throws(CofferError) in
                for _ in 0..<6 {
                    let inner = try watch.begin(within: Self.long)
                    _ = never.wait(Self.short)
                    watch.end(inner)
                }
                return 6
            }
        }
        #expect(value == 6)
    }
}
