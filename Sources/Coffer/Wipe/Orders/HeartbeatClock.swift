import CofferBase

/// How long the machine has run since the last contact, as far as anybody looked: never more than has really
/// passed, whatever machines the home was on and in whatever order.
///
/// Each boot is compared with its own last look alone, so that two machines that look in turns count no time
/// twice. A boot that nobody looked in before may have begun long before the last look, elsewhere: of its
/// time counts what the wall clock says has passed since that look, at most. The same goes for a boot whose
/// clock was seen to go back, as where a machine goes on from a snapshot while its clone runs: its looks may
/// be of either. Those are the only uses of the wall clock.
struct HeartbeatClock: Equatable {
    /// A boot, as of the last look in it.
    private struct Boot: Equatable {
        let identifier: [UInt8]
        /// Time since boot.
        let lastLook: Duration
        /// The time since the contact, then.
        let elapsed: Duration

        /// Where the boot's identifier cannot be read, a look may be in any boot.
        var isKnown: Bool { identifier != Array(VaultClock.unknownBoot.utf8) }
    }

    private(set) var elapsed = Duration.zero
    /// Never empty; the one of the last look first. Of a boot whose clock went back, there is one for each
    /// time that it went on from.
    private var boots: [Boot]
    /// The latest wall time of any look; `nil` in the record of an earlier release.
    private var wall: Duration?

    private static let maxBootCount = 9
    private static let maxIdentifierLength = 36

    /// Starts at zero.
    init(_ time: VaultClock) {
        boots = [Self.boot(time, elapsed: .zero)]
        wall = time.wallClock()
    }

    /// Starts at zero again. A wall clock that was ahead once is not believed less for it.
    mutating func restart(_ time: VaultClock) {
        let wall = wall
        self = HeartbeatClock(time)
        self.wall = max(wall ?? time.wallClock(), time.wallClock())
    }

    private static func boot(_ time: VaultClock, elapsed: Duration) -> Boot {
        Boot(
            identifier: Array(time.bootIdentifier().utf8.prefix(maxIdentifierLength)),
            lastLook: time.bootTime(), elapsed: elapsed)
    }

    /// The time since the contact, with what passed since the last look. A clock set back in the same boot
    /// adds nothing, and takes nothing away; of the end of an earlier boot nothing is known.
    func passed(_ time: VaultClock) -> Duration {
        let now = Self.boot(time, elapsed: elapsed)
        let own = boots.filter { $0.identifier == now.identifier }
        if now.isKnown, !own.isEmpty {
            guard let seen = Self.last(of: own, before: now) else { return elapsed }
            var running = now.lastLook - seen.lastLook
            if own.count > 1 { running = min(running, sinceLastLook(time)) }
            return max(elapsed, seen.elapsed + running)
        }
        let running = now.isKnown ? now.lastLook : now.lastLook - boots[0].lastLook
        return elapsed + max(.zero, min(running, sinceLastLook(time)))
    }

    /// The time since the last look by the wall clock; none where it was set back, or nobody noted it.
    private func sinceLastLook(_ time: VaultClock) -> Duration {
        wall.map { max(.zero, time.wallClock() - $0) } ?? .zero
    }

    /// What `now` goes on from; `nil` where the boot's clock went back.
    private static func last(of boots: [Boot], before now: Boot) -> Boot? {
        boots.filter { $0.identifier == now.identifier && $0.lastLook <= now.lastLook }
            .max { $0.lastLook < $1.lastLook }
    }

    /// Whether it is worth a write: nobody looked in this boot before, the clock was set back, or a minute
    /// passed.
    func isStale(_ time: VaultClock) -> Bool {
        let now = Self.boot(time, elapsed: elapsed)
        guard let seen = Self.last(of: boots, before: now) else { return true }
        return now.lastLook - seen.lastLook >= .seconds(60)
    }

    mutating func tick(_ time: VaultClock) {
        elapsed = passed(time)
        let now = Self.boot(time, elapsed: elapsed)
        if let seen = Self.last(of: boots, before: now) { boots.removeAll { $0 == seen } }
        boots = [now] + boots.prefix(Self.maxBootCount - 1)
        wall = max(wall ?? time.wallClock(), time.wallClock())
    }

    // MARK: In the record

    func encode(to writer: inout BinaryWriter) {
        writer.append(UInt64(clamping: elapsed.nanoseconds))
        writer.append(UInt64(clamping: boots[0].lastLook.nanoseconds))
        writer.appendLengthPrefixed(boots[0].identifier)
    }

    init(from reader: inout BinaryReader) throws(CofferError) {
        elapsed = try Self.duration(&reader)
        let lastLook = try Self.duration(&reader)
        boots = [Boot(identifier: try reader.lengthPrefixed(), lastLook: lastLook, elapsed: elapsed)]
    }

    /// What earlier releases do not have.
    func encodeRest(to writer: inout BinaryWriter) {
        writer.append([wall == nil ? 0 : 1])
        writer.append(UInt64(clamping: wall?.nanoseconds ?? 0))
        writer.append([UInt8(clamping: boots.count - 1)])
        for boot in boots.dropFirst() {
            writer.append(UInt64(clamping: boot.elapsed.nanoseconds))
            writer.append(UInt64(clamping: boot.lastLook.nanoseconds))
            writer.appendLengthPrefixed(boot.identifier)
        }
    }

    mutating func decodeRest(from reader: inout BinaryReader) throws(CofferError) {
        let hasWall = try reader.take(1)[0]
        let latest = try Self.duration(&reader)
        guard hasWall == 1 || hasWall == 0 && latest == .zero else { throw reader.corruptError }
        wall = hasWall == 1 ? latest : nil
        let count = Int(try reader.take(1)[0])
        guard count < Self.maxBootCount else { throw reader.corruptError }
        for _ in 0..<count {
            let (elapsed, lastLook) = (try Self.duration(&reader), try Self.duration(&reader))
            boots.append(Boot(identifier: try reader.lengthPrefixed(), lastLook: lastLook, elapsed: elapsed))
        }
    }

    private static func duration(_ reader: inout BinaryReader) throws(CofferError) -> Duration {
        .nanoseconds(Int64(clamping: try reader.number(UInt64.self)))
    }
}
