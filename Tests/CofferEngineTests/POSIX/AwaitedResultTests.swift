import CofferEngine
import Testing

@Suite("AwaitedResult")
struct AwaitedResultTests {
    @Test("A result that is there already, and one that another thread sets, are returned")
    func results() {
        let early = AwaitedResult<Int>()
        early.set(1)
        #expect(early.wait(.zero) == 1)
        let late = AwaitedResult<Int>()
        #expect(Threads.begin { late.set(2) })
        #expect(late.wait(.seconds(60)) == 2)
    }

    @Test("Without a result, the wait ends at its deadline, also one with fractions, and one in the past")
    func deadlines() {
        let none = AwaitedResult<Int>()
        for deadline in [Duration.zero, .seconds(-5), .nanoseconds(999_999_999), .milliseconds(-1)] {
            #expect(none.wait(deadline) == nil)
        }
        none.set(3)
        #expect(none.wait(.seconds(Int64.max / 2)) == 3)
    }
}
