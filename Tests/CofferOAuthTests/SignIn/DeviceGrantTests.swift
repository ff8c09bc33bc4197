import CofferBase
import CofferOAuth
import Testing
import TestSupport

@Suite("The schedule of the device grant")
struct DeviceGrantTests {
    @Test("Refusals end the grant", arguments: ["access_denied", "expired_token", "invalid_grant"])
    func refusals(error: String) {
        var grant = DeviceGrant(expiresIn: .seconds(600), now: .zero)
        let expected: CofferError.Code = error == "expired_token" ? .timedOut : .serverRefused
        #expect(failure { try grant.receive(.init(error: error), now: .seconds(5)) } == expected)
    }

    @Test("The client gives up at the code's end, and after 30 minutes at the latest")
    func ends() throws {
        let short = DeviceGrant(expiresIn: .seconds(7), now: .seconds(100))
        #expect(try short.step(now: .seconds(106)) == .ask)
        #expect(failure { _ = try short.step(now: .seconds(107)) } == .timedOut)
        let long = DeviceGrant(expiresIn: .seconds(1 << 40), now: .zero)
        #expect(long.end == .seconds(1800))
        #expect(
            failure { _ = try DeviceGrant(expiresIn: .seconds(-1), now: .zero).step(now: .zero) } == .timedOut
        )
    }

    @Test("The interval is kept, and each slow_down adds five seconds for good")
    func intervals() throws {
        var grant = DeviceGrant(interval: .seconds(2), expiresIn: .seconds(600), now: .zero)
        #expect(try grant.step(now: .zero) == .wait(until: .seconds(2)))
        #expect(try grant.step(now: .seconds(2)) == .ask)
        try grant.receive(.pending, now: .seconds(3))
        #expect(try grant.step(now: .seconds(4)) == .wait(until: .seconds(5)))
        try grant.receive(.init(error: "slow_down"), now: .seconds(5))
        #expect(try grant.step(now: .seconds(6)) == .wait(until: .seconds(12)))
        try grant.receive(.slowDown, now: .seconds(12))
        try grant.receive(.pending, now: .seconds(24))
        #expect(grant.interval == .seconds(12))
        try grant.receive(.unreachable, now: .seconds(36))
        #expect(grant.interval == .seconds(24))
        try grant.receive(.approved, now: .seconds(60))
        #expect(try grant.step(now: .seconds(9999)) == .approved)
    }

    @Test("A wait that the server asks for delays the next question, but not the end")
    func retryAfter() throws {
        var grant = DeviceGrant(interval: .seconds(2), expiresIn: .seconds(60), now: .zero)
        try grant.receive(.unreachable, now: .seconds(2), retryAfter: .seconds(30))
        #expect(try grant.step(now: .seconds(3)) == .wait(until: .seconds(32)))
        // Less than the interval, which has grown to four seconds, changes nothing.
        try grant.receive(.pending, now: .seconds(32), retryAfter: .seconds(1))
        #expect(try grant.step(now: .seconds(33)) == .wait(until: .seconds(36)))
        try grant.receive(.unreachable, now: .seconds(36), retryAfter: .seconds(3600))
        #expect(try grant.step(now: .seconds(37)) == .wait(until: .seconds(60)))
        #expect(failure { _ = try grant.step(now: .seconds(60)) } == .timedOut)
    }

    @Test("A missing interval is five seconds, and none is shorter than one")
    func defaults() {
        #expect(DeviceGrant(expiresIn: .seconds(9), now: .zero).interval == .seconds(5))
        #expect(DeviceGrant(interval: .zero, expiresIn: .seconds(9), now: .zero).interval == .seconds(1))
    }
}
