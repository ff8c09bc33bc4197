import CofferBase
import CofferVault

/// A clock that counts the time since the last heartbeat during which a machine with the vault was running,
/// as far as that time was observed. The counted time is never more than the time that has really passed,
/// regardless of how many machines the vault was on and in what sequence.
///
/// Each boot is compared only with its own last check, so no time is counted twice when two machines check
/// the vault in turn. A boot without an earlier check may have begun long before the last check on another
/// machine, so its time is limited to the time since that check according to the wall clock. The same limit
/// applies to a boot whose clock went back, for example if a machine resumes from a snapshot while its clone
/// runs: its checks may come from either machine. The wall clock has no other use here.
struct HeartbeatClock: Equatable {
    /// A boot's state at its last check.
    private struct Boot: Equatable {
        let identifier: [UInt8]
        /// The time since boot.
        let lastTick: Duration
        /// The time since the last heartbeat, as counted at that check.
        let elapsed: Duration

        /// Whether the boot's identifier could be read; if not, the check may have been in any boot.
        var isKnown: Bool { identifier != Array(VaultClock.unknownBoot.utf8) }
    }

    private(set) var elapsed = Duration.zero
    /// The boots in which a check was made, starting with that of the last check; never empty. A boot whose
    /// clock went back has one entry for each time from which it resumed.
    private var boots: [Boot]
    /// The latest wall time of any check; `nil` in a record from an earlier release.
    private var wall: Duration?

    private static let maxBootCount = 9
    private static let maxIdentifierLength = 36

    /// Creates a clock that starts at zero.
    init(_ clock: VaultClock) {
        boots = [Self.boot(clock, elapsed: .zero)]
        wall = clock.wallClock()
    }

    /// Restarts the clock at zero. Keeps the latest wall time, even if the wall clock has since gone back.
    mutating func restart(_ clock: VaultClock) {
        let wall = wall
        self = HeartbeatClock(clock)
        self.wall = max(wall ?? clock.wallClock(), clock.wallClock())
    }

    private static func boot(_ clock: VaultClock, elapsed: Duration) -> Boot {
        Boot(
            identifier: Array(clock.bootIdentifier().utf8.prefix(maxIdentifierLength)),
            lastTick: clock.bootTime(), elapsed: elapsed)
    }

    /// Returns the time since the heartbeat, including the time since the last check. A clock that was set
    /// back in the same boot neither adds nor subtracts time; an earlier boot's time after its last check
    /// does not count.
    func passed(_ clock: VaultClock) -> Duration {
        let now = Self.boot(clock, elapsed: elapsed)
        let own = boots.filter { $0.identifier == now.identifier }
        if now.isKnown, !own.isEmpty {
            guard let seen = Self.last(of: own, before: now) else { return elapsed }
            var running = now.lastTick - seen.lastTick
            if own.count > 1 { running = min(running, sinceLastTick(clock)) }
            return max(elapsed, seen.elapsed + running)
        }
        let running = now.isKnown ? now.lastTick : now.lastTick - boots[0].lastTick
        return elapsed + max(.zero, min(running, sinceLastTick(clock)))
    }

    /// Returns the time since the last check according to the wall clock; zero if the clock was set back or
    /// no wall time is recorded.
    private func sinceLastTick(_ clock: VaultClock) -> Duration {
        wall.map { max(.zero, clock.wallClock() - $0) } ?? .zero
    }

    /// Returns the entry that `now` continues; `nil` if the boot's clock went back or the boot has no entry.
    private static func last(of boots: [Boot], before now: Boot) -> Boot? {
        boots.filter { $0.identifier == now.identifier && $0.lastTick <= now.lastTick }
            .max { $0.lastTick < $1.lastTick }
    }

    /// Returns whether the clock should be stored: this boot has no check yet, its clock was set back, or a
    /// minute has passed since its last check.
    func isStale(_ clock: VaultClock) -> Bool {
        let now = Self.boot(clock, elapsed: elapsed)
        guard let seen = Self.last(of: boots, before: now) else { return true }
        return now.lastTick - seen.lastTick >= .seconds(60)
    }

    mutating func tick(_ clock: VaultClock) {
        elapsed = passed(clock)
        let now = Self.boot(clock, elapsed: elapsed)
        if let seen = Self.last(of: boots, before: now) { boots.removeAll { $0 == seen } }
        boots = [now] + boots.prefix(Self.maxBootCount - 1)
        wall = max(wall ?? clock.wallClock(), clock.wallClock())
    }

    // MARK: In the record

    func encode(to writer: inout BinaryWriter) {
        writer.append(UInt64(clamping: elapsed.nanoseconds))
        writer.append(UInt64(clamping: boots[0].lastTick.nanoseconds))
        writer.appendLengthPrefixed(boots[0].identifier)
    }

    init(from reader: inout BinaryReader) throws(CofferError) {
        elapsed = try Self.duration(&reader)
        let lastTick = try Self.duration(&reader)
        boots = [Boot(identifier: try reader.lengthPrefixed(), lastTick: lastTick, elapsed: elapsed)]
    }

    /// Encodes the fields that records from earlier releases do not have.
    func encodeRest(to writer: inout BinaryWriter) {
        writer.append([wall == nil ? 0 : 1])
        writer.append(UInt64(clamping: wall?.nanoseconds ?? 0))
        writer.append([UInt8(clamping: boots.count - 1)])
        for boot in boots.dropFirst() {
            writer.append(UInt64(clamping: boot.elapsed.nanoseconds))
            writer.append(UInt64(clamping: boot.lastTick.nanoseconds))
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
            let (elapsed, lastTick) = (try Self.duration(&reader), try Self.duration(&reader))
            boots.append(Boot(identifier: try reader.lengthPrefixed(), lastTick: lastTick, elapsed: elapsed))
        }
    }

    private static func duration(_ reader: inout BinaryReader) throws(CofferError) -> Duration {
        .nanoseconds(Int64(clamping: try reader.number(UInt64.self)))
    }
}
