/// A received command: its bytes, and its unverified contents, which only determine when it is verified.
struct ReceivedCommand {
    let bytes: [UInt8]
    /// The decoded command; `nil` for bytes that are not a command.
    let read: SignedCommand?

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        read = try? SignedCommand.read(bytes)
    }

    /// Sorts the commands by their counters. Of two valid commands, the one with the lower counter must come
    /// first, because the other would make it a replay. Bytes that are not a command keep their place.
    static func inSequence(_ received: [ReceivedCommand]) -> [ReceivedCommand] {
        var orders = received.enumerated().compactMap { place, order in
            order.read.map { (counter: $0.content.counter, place: place, order: order) }
        }
        orders.sort { ($0.counter, $0.place) < ($1.counter, $1.place) }
        var next = orders.makeIterator()
        return received.map { $0.read == nil ? $0 : next.next()?.order ?? $0 }
    }

    /// Whether the command must not overtake a command with a lower counter. A heartbeat has a separate
    /// counter, and a command to erase everything waits for nothing.
    var waitsItsTurn: Bool {
        switch read?.content.action {
        case .heartbeat, .wipe(.all), nil: false
        default: true
        }
    }
}
