import CofferBase

/// How long the machine has run since the last contact, as far as anybody looked.
struct ContactClock: Equatable {
    private(set) var elapsed = Duration.zero
    /// Time since boot at the last look.
    private var lastLook: Duration
    private var bootIdentifier: String

    /// Starts at zero.
    init(_ time: TimeSource) {
        lastLook = time.sinceBoot()
        bootIdentifier = Self.shortened(time.bootIdentifier())
    }

    /// What passed since the last look. In another boot, all of that boot; of the rest of the old one nothing
    /// is known. A clock set back in the same boot adds nothing, and takes nothing away.
    func unnoted(_ time: TimeSource) -> Duration {
        let now = time.sinceBoot()
        guard Self.shortened(time.bootIdentifier()) == bootIdentifier else { return max(.zero, now) }
        return max(.zero, now - lastLook)
    }

    /// Whether it is worth a write: the look was in another boot, the clock was set back, or a minute passed.
    func isStale(_ time: TimeSource) -> Bool {
        Self.shortened(time.bootIdentifier()) != bootIdentifier || time.sinceBoot() < lastLook
            || unnoted(time) >= .seconds(60)
    }

    mutating func look(_ time: TimeSource) {
        elapsed += unnoted(time)
        lastLook = time.sinceBoot()
        bootIdentifier = Self.shortened(time.bootIdentifier())
    }

    private static func shortened(_ boot: String) -> String { String(boot.unicodeScalars.prefix(36)) }

    // MARK: In the record

    func encode(to writer: inout ByteWriter) {
        writer.append(UInt64(clamping: elapsed.nanoseconds))
        writer.append(UInt64(clamping: lastLook.nanoseconds))
        writer.appendText(bootIdentifier)
    }

    init(from reader: inout ByteReader) throws(CofferError) {
        elapsed = .nanoseconds(Int64(clamping: try reader.number(UInt64.self)))
        lastLook = .nanoseconds(Int64(clamping: try reader.number(UInt64.self)))
        bootIdentifier = try reader.text()
    }
}
