import CofferBase
import CofferEngine

/// The loop that serves the loopback listener's connections until the redirect has arrived. It runs on one
/// thread and blocks it.
struct RedirectServer: ~Copyable {
    /// The limits of a server, which tests shorten.
    struct Limits: Sendable {
        /// The maximum number of connections at the same time.
        var connections = 16
        /// The life of each connection. Browsers open idle connections in advance.
        var connection = Duration.seconds(5)
        /// The time to wait for the browser to ask for the page after the redirect.
        var grace = Duration.seconds(1)
    }

    /// The longest wait before cancellation is looked for.
    private static let tick = Duration.milliseconds(100)

    private let socket: LoopbackSocket
    private let place: RedirectPlace
    private let request: AuthorizationRequest
    private let limits: Limits
    private var connections: [RedirectConnection] = []
    /// The outcome, once the redirect has arrived, and the time until which the browser is served.
    private var outcome: (result: Result<AuthorizationRedirect, CofferError>, until: Duration)?
    private var isServed = false
    /// The time from which connections are accepted again.
    private var acceptsFrom = Duration.zero

    init(
        _ socket: consuming LoopbackSocket, _ place: RedirectPlace, _ request: AuthorizationRequest,
        _ limits: Limits
    ) {
        self.socket = socket
        self.place = place
        self.request = request
        self.limits = limits
    }

    /// Serves connections until the redirect has arrived.
    ///
    /// - Parameters:
    ///   - end: The time at which to give up.
    ///   - isCancelled: A closure that is called repeatedly; once it returns `true`, the server ends.
    /// - Returns: The answer.
    /// - Throws: `timedOut`, `cancelled`; `redirectRefused` or `issuerMismatch` for an answer with the right
    ///   `state` that is invalid.
    mutating func run(
        until end: Duration, isCancelled: () -> Bool
    ) throws(CofferError) -> AuthorizationRedirect {
        while true {
            let now = Clock.sinceBoot
            if let outcome, isServed || now >= outcome.until { return try outcome.result.get() }
            guard !isCancelled() else { throw CofferError(.cancelled, "The sign-in was cancelled.") }
            guard outcome != nil || now < end else {
                throw CofferError(
                    .timedOut, "No answer to the sign-in arrived in time.", remedy: .signInElsewhere)
            }
            try serveOnce(wait: waitingTime(now: now, end: end))
        }
    }

    /// Returns the time until something has to be done without a connection's doing.
    private func waitingTime(now: Duration, end: Duration) -> Int32 {
        let times = connections.map(\.end) + [outcome?.until ?? end, now + Self.tick]
        let wait = max(.zero, (times.min() ?? now) - now)
        // Rounded up: a wait of less than a millisecond would otherwise be none.
        return Int32(wait / .milliseconds(1)) + 1
    }

    private mutating func serveOnce(wait: Int32) throws(CofferError) {
        let ready = try socket.wait(
            for: connections.map { ($0.connection, $0.isWriting) }, milliseconds: wait,
            acceptsConnections: Clock.sinceBoot >= acceptsFrom)
        for (connection, isReady) in zip(connections, ready.connections) where isReady {
            try serve(connection)
        }
        let now = Clock.sinceBoot
        connections.removeAll { $0.hasEnded || now >= $0.end }
        if ready.hasConnection { try acceptConnections(now: now) }
    }

    /// Accepts the waiting connections. Those beyond the limit replace the oldest idle ones.
    private mutating func acceptConnections(now: Duration) throws(CofferError) {
        for index in 0..<limits.connections {
            guard let accepted = try socket.accept() else {
                // It still waits, for example for a free descriptor, so the next wait would end at once.
                if index == 0 { acceptsFrom = now + Self.tick }
                return
            }
            if connections.count >= limits.connections {
                connections.remove(at: connections.firstIndex { $0.isIdle } ?? 0)
            }
            connections.append(try RedirectConnection(accepted, end: now + limits.connection))
        }
    }

    private mutating func serve(_ connection: RedirectConnection) throws(CofferError) {
        switch connection.phase {
        case .reading: try read(connection)
        case .writing: connection.write()
        case .draining: connection.drain()
        case .ended: break
        }
        if connection.isLast, !connection.isWriting { isServed = true }
    }

    private mutating func read(_ connection: RedirectConnection) throws(CofferError) {
        guard let head = connection.receive() else { return }
        switch head {
        case .refused(let answer): connection.answer(answer)
        case .complete(let parsed):
            switch connection.verdict(parsed, at: place) {
            case .refused(let answer): connection.answer(answer)
            // Before the redirect, the page would tell a lie to whoever opens it.
            case .done: connection.answer(outcome == nil ? .notFound : .done, isLast: outcome != nil)
            case .redirect(let query): try judge(query, connection)
            }
        }
    }

    /// Checks the parameters. Those that do not belong to this sign-in leave the listener as it is: any page
    /// in the browser can send them.
    private mutating func judge(_ query: Range<Int>, _ connection: RedirectConnection) throws(CofferError) {
        guard outcome == nil else { return connection.answer(.badRequest) }
        var belongs = false
        do throws(CofferError) {
            let parameters = try connection.parameters(query)
            try AuthorizationRedirect.checkState(parameters, request)
            // Other users can read `state` in the browser's arguments, and sign in as themselves with it. The
            // kernel is asked only now, because its tables are long while somebody opens many connections.
            if connection.isForeign { return connection.close() }
            belongs = true
            let redirect = try AuthorizationRedirect.check(parameters, for: request)
            outcome = (.success(redirect), Clock.sinceBoot + limits.grace)
            connection.answer(.moved(place.donePath))
        } catch {
            // Without memory, no later answer could be kept either.
            guard error.code != .outOfMemory else { throw error }
            if belongs { outcome = (.failure(error), Clock.sinceBoot + limits.grace) }
            connection.answer(.badRequest, isLast: belongs)
        }
    }
}
