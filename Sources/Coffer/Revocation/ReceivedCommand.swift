/// The bytes of an order with their unverified contents, which only determine the sequence of verification.
struct ReceivedCommand {
    let bytes: [UInt8]
    /// `nil` for bytes that are not an order.
    let read: SignedCommand?

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        read = try? SignedCommand.read(bytes)
    }

    /// Sorts the orders by their counters: of two valid ones the lower comes first, otherwise the other
    /// would make it a replay. Bytes that are not an order keep their place.
    static func inSequence(_ received: [ReceivedCommand]) -> [ReceivedCommand] {
        var orders = received.enumerated().compactMap { place, order in
            order.read.map { (counter: $0.content.counter, place: place, order: order) }
        }
        orders.sort { ($0.counter, $0.place) < ($1.counter, $1.place) }
        var next = orders.makeIterator()
        return received.map { $0.read == nil ? $0 : next.next()?.order ?? $0 }
    }

    /// Whether it must not overtake an order with a lower counter. A heartbeat has a separate counter, and
    /// after an order to erase everything there is nothing to wait for.
    var waitsItsTurn: Bool {
        switch read?.content.action {
        case .heartbeat, .wipe(.all), nil: false
        default: true
        }
    }
}
