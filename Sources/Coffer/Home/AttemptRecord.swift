import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// The count of wrong passcodes, in two slots updated in place and authenticated under the device key.
///
/// It goes up, flushed, **before** a passcode is compared with the keybag's, so that no crash and no kill
/// makes a guess free; and with the tag of that passcode, which the next attempt compares when a kill left it
/// pending, so that none counts that was never compared. The same passcode twice in a row counts once. A copy
/// of the file put back resets the count: files alone cannot prevent that.
///
/// Payload: failures (4), what the tag is (1: 0 none, 1 of a wrong passcode, 2 of one that was counted and
/// whose comparison is not recorded), 3 zero, tag (32), time of the last failure since boot in nanoseconds
/// (8), boot identifier (36 bytes).
struct AttemptRecord: Equatable {
    static let record = DualSlotRecord(
        name: "attempts", magic: FileMagic.attempts, slotSize: 512, displayName: "attempt counter",
        remedy: .home)
    /// The failure that erases everything.
    static let limit = 10

    /// The wrong ones, with one that is pending.
    var failures = 0
    /// The tag of the passcode that was counted last: see ``DerivedPasscode``.
    var lastTag: [UInt8]?
    /// Whether that one was counted and its comparison is not recorded.
    var isPending = false
    var lastFailure = Duration.zero
    var bootIdentifier = ""

    /// How long to wait after so many failures: nothing for the first four, then one second, doubling.
    static func delay(after failures: Int) -> Duration {
        failures < 5 ? .zero : .seconds(1 << min(failures - 5, 20))
    }

    /// How long to wait now. After a reboot the full delay starts anew: the clock since boot says nothing of
    /// before.
    func remainingDelay(now: Duration, bootIdentifier: String) -> Duration {
        let since = isSameBoot(bootIdentifier) ? now - lastFailure : now
        return max(.zero, Self.delay(after: failures) - since)
    }

    /// Whether the last failure lies ahead in this very boot: the clock was set back, and the delay starts
    /// anew.
    func isClockRolledBack(now: Duration, bootIdentifier: String) -> Bool {
        isSameBoot(bootIdentifier) && now < lastFailure
    }

    /// A boot that cannot be told from others is taken for the same one: a delay gets no shorter by that.
    private func isSameBoot(_ identifier: String) -> Bool {
        let unknown = VaultClock.unknownBoot
        return [identifier, unknown].contains { $0.hasSameBytes(as: bootIdentifier) }
            || identifier.hasSameBytes(as: unknown)
    }

    var left: Int { max(0, Self.limit - failures) }

    /// Whether the passcode of this tag was the last that was counted.
    func isLast(_ tag: [UInt8]) -> Bool {
        guard let lastTag else { return false }
        return ConstantTime.equal(lastTag.span, tag.span)
    }

    /// With the passcode of this tag counted and not yet compared.
    func counting(_ tag: [UInt8]) -> AttemptRecord {
        var counted = self
        if !isLast(tag) { counted.failures += 1 }
        counted.lastTag = tag
        counted.isPending = true
        return counted
    }

    /// With the pending passcode compared with the keybag's. Where an earlier release wrote the keybag, there
    /// is nothing to compare with, and it stays counted: it may have been evaluated.
    func settled(by passcodeTag: [UInt8]?) -> AttemptRecord {
        guard isPending, let passcodeTag else { return self }
        guard !isLast(passcodeTag) else { return AttemptRecord() }
        var settled = self
        settled.isPending = false
        return settled
    }

    var encoded: [UInt8] {
        var writer = BinaryWriter()
        writer.append(UInt32(failures))
        writer.append([lastTag == nil ? 0 : isPending ? 2 : 1, 0, 0, 0])
        writer.append(lastTag ?? [UInt8](repeating: 0, count: 32))
        writer.append(UInt64(clamping: lastFailure.nanoseconds))
        writer.appendText(bootIdentifier)
        return writer.bytes
    }

    static func decode(_ payload: [UInt8]) throws(CofferError) -> AttemptRecord {
        var reader = BinaryReader(payload, name: record.displayName, remedy: record.remedy)
        var attempts = AttemptRecord()
        attempts.failures = Int(try reader.number(UInt32.self))
        let kind = try reader.take(4)[0]
        guard kind <= 2 else { throw reader.corruptError }
        let tag = try reader.take(32)
        attempts.lastTag = kind > 0 ? tag : nil
        attempts.isPending = kind == 2
        attempts.lastFailure = .nanoseconds(Int64(clamping: try reader.number(UInt64.self)))
        attempts.bootIdentifier = try reader.text()
        return attempts
    }
}

extension Duration {
    /// Whole nanoseconds, clamped.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? (seconds < 0 ? .min : .max) : product + attoseconds / 1_000_000_000
    }
}
