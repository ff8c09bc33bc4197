/// The bytes of an order with what they claim, which decides nothing but the sequence of judgement.
struct ReceivedOrder {
    let bytes: [UInt8]
    /// `nil` for bytes that are no order.
    let read: SignedCommand?

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        read = try? SignedCommand.read(bytes)
    }

    /// The same with the orders among them by their counters: of two valid ones the lower goes first, or the
    /// other would make a replay of it. What is no order keeps its place.
    static func inSequence(_ received: [ReceivedOrder]) -> [ReceivedOrder] {
        var orders = received.enumerated().compactMap { place, order in
            order.read.map { (counter: $0.content.counter, place: place, order: order) }
        }
        orders.sort { ($0.counter, $0.place) < ($1.counter, $1.place) }
        var next = orders.makeIterator()
        return received.map { $0.read == nil ? $0 : next.next()?.order ?? $0 }
    }

    /// Whether it takes a counter that others wait for: not a contact, which has one of its own, nor an order
    /// to erase everything, after which there is nothing to wait for.
    var waitsItsTurn: Bool {
        switch read?.content.action {
        case .contact, .wipe(.all), nil: false
        default: true
        }
    }
}
