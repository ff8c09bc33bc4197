import CofferBase
import CofferEngine

/// One connection of the loopback listener, which serves one request. Only the listener's thread uses it.
final class RedirectConnection {
    /// The work that remains.
    enum Phase {
        /// The head of the request is read.
        case reading
        /// The answer is written.
        case writing
        /// The answer is written. Further bytes are discarded: closing the connection before they are read
        /// would discard the answer.
        case draining
        /// The other side has ended.
        case ended
    }

    /// The head of a request.
    enum Head {
        case complete(RedirectRequest)
        case refused(LoopbackAnswer)
    }

    let connection: LoopbackConnection
    /// The time at which the connection is closed.
    let end: Duration
    private(set) var phase = Phase.reading
    /// Whether the listener ends after this answer.
    private(set) var isLast = false
    private var request: RequestBuffer
    private var remaining: [UInt8] = []

    init(_ connection: LoopbackConnection, end: Duration) throws(CofferError) {
        request = try RequestBuffer.make()
        self.connection = connection
        self.end = end
    }

    var isWriting: Bool { phase == .writing }
    var hasEnded: Bool { phase == .ended }

    /// Whether another user's program sent the request, or one that no longer waits for the answer.
    var isForeign: Bool { !connection.peerOwner.mayBeOwn }

    /// Gives no answer.
    func close() { phase = .ended }

    /// Whether the connection has sent nothing yet or has had its answer.
    var isIdle: Bool { phase == .reading && request.isEmpty || phase == .draining }

    /// Reads what has arrived. Returns the head once it is complete or invalid.
    func receive() -> Head? {
        switch request.receive(from: connection) {
        case .nothing: return nil
        case .end:
            phase = .ended
            return nil
        case .full: return .refused(.tooLong)
        case .bytes: break
        }
        // A head becomes complete or invalid with a byte that ends a line, so that a sender of single bytes
        // costs little.
        guard request.hasNewLine else { return request.isFull ? .refused(.tooLong) : nil }
        do throws(CofferError) {
            if let parsed = try request.parse() { return .complete(parsed) }
            return request.isFull ? .refused(.tooLong) : nil
        } catch {
            return .refused(.badRequest)
        }
    }

    func verdict(_ parsed: RedirectRequest, at place: RedirectPlace) -> RedirectRequest.Verdict {
        request.verdict(parsed, at: place)
    }

    func parameters(_ query: Range<Int>) throws(CofferError) -> RedirectParameters {
        try request.parameters(query)
    }

    /// Begins to write the answer, and clears the request.
    func answer(_ answer: LoopbackAnswer, isLast: Bool = false) {
        self.isLast = isLast
        request.clear()
        remaining = answer.bytes
        phase = .writing
        write()
    }

    /// Writes as much of the answer as the connection accepts now.
    func write() {
        guard let count = connection.write(remaining.span) else {
            phase = .ended
            return
        }
        remaining.removeFirst(count)
        guard remaining.isEmpty else { return }
        connection.finishWriting()
        phase = .draining
    }

    /// Discards what has arrived.
    func drain() {
        if request.receive(from: connection) == .end { phase = .ended }
        request.clear()
    }
}

/// The bytes of a request, which may contain a code, in guarded memory.
private struct RequestBuffer: ~Copyable {
    enum Received {
        case bytes, nothing, end, full
    }

    private var bytes: GuardedBytes
    private var count = 0
    /// Whether the bytes that were received last contain the end of a line.
    private(set) var hasNewLine = false

    private init(_ bytes: consuming GuardedBytes) { self.bytes = bytes }

    static func make() throws(CofferError) -> RequestBuffer {
        RequestBuffer(try GuardedBytes.zeroed(count: RedirectRequest.maxByteCount))
    }

    var isEmpty: Bool { count == 0 }
    var isFull: Bool { count == bytes.count }

    mutating func receive(from connection: LoopbackConnection) -> Received {
        guard !isFull else { return .full }
        let (start, limit) = (count, bytes.count)
        var span = bytes.mutableSpan
        var rest = span._mutatingExtracting(start..<limit)
        switch connection.read(into: &rest) {
        case .nothing: return .nothing
        case .end: return .end
        case .bytes(let more): count = start + more
        }
        hasNewLine = RedirectRequest.place(of: "\n", in: bytes.span, start..<count) != nil
        return .bytes
    }

    func parse() throws(CofferError) -> RedirectRequest? {
        try RedirectRequest.parse(bytes.span.extracting(0..<count))
    }

    func verdict(_ parsed: RedirectRequest, at place: RedirectPlace) -> RedirectRequest.Verdict {
        parsed.verdict(bytes.span, at: place)
    }

    func parameters(_ range: Range<Int>) throws(CofferError) -> RedirectParameters {
        try RedirectParameters.parse(bytes.span.extracting(range))
    }

    mutating func clear() {
        var span = bytes.mutableSpan
        span.clear()
        count = 0
        hasNewLine = false
    }
}
