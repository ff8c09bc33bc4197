package import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// The count of wrong passcodes, in two slots updated in place and authenticated under the device key.
///
/// The count is raised and flushed **before** a passcode is compared with the keybag's, so no crash or kill
/// makes a guess free. It is stored with the tag of that passcode: if a kill leaves the passcode pending, the
/// next attempt compares it, so no passcode counts that was never compared. The same passcode twice in a row
/// counts once. Restoring an older copy of the file resets the count; files alone cannot prevent that.
///
/// Payload: failures (4), kind of the tag (1: 0 none, 1 of a wrong passcode, 2 of one that was counted and
/// whose comparison is not recorded), 3 zero, tag (32), time of the last failure since boot in nanoseconds
/// (8), boot identifier (36 bytes).
package struct AttemptRecord: Equatable, RecordPayload {
    package static let record = AuthenticatedRecord<AttemptRecord>(
        name: "attempts", magic: FileMagic.attempts, keyLabel: KDFLabel.attemptsMAC, slotSize: 512,
        displayName: "attempt counter", remedy: .restoreOrWipeVault)
    /// The number of failures that erases everything.
    package static let limit = 10

    /// The number of wrong passcodes, a pending one included.
    package var failures = 0
    /// The tag of the passcode that was counted last: see ``DerivedPasscode``.
    package var lastTag: [UInt8]?
    /// Whether that passcode was counted and its comparison is not recorded.
    package var isPending = false
    package var lastFailure = Duration.zero
    package var bootIdentifier = ""

    package init(
        failures: Int = 0, lastTag: [UInt8]? = nil, isPending: Bool = false, lastFailure: Duration = .zero,
        bootIdentifier: String = ""
    ) {
        self.failures = failures
        self.lastTag = lastTag
        self.isPending = isPending
        self.lastFailure = lastFailure
        self.bootIdentifier = bootIdentifier
    }

    /// The delay after a number of failures: none for the first four, then one second, doubling.
    package static func delay(after failures: Int) -> Duration {
        failures < 5 ? .zero : .seconds(1 << min(failures - 5, 20))
    }

    /// The delay that is left. After a reboot the full delay starts again, because the boot clock knows
    /// nothing of the time before.
    package func remainingDelay(now: Duration, bootIdentifier: String) -> Duration {
        let since = isSameBoot(bootIdentifier) ? now - lastFailure : now
        return max(.zero, Self.delay(after: failures) - since)
    }

    /// Whether the last failure lies in the future of this very boot: the clock was set back, and the delay
    /// starts again.
    package func isClockRolledBack(now: Duration, bootIdentifier: String) -> Bool {
        isSameBoot(bootIdentifier) && now < lastFailure
    }

    /// A boot that cannot be distinguished from others counts as the same one; that never shortens a delay.
    private func isSameBoot(_ identifier: String) -> Bool {
        let unknown = VaultClock.unknownBoot
        return [identifier, unknown].contains { $0.hasSameBytes(as: bootIdentifier) }
            || identifier.hasSameBytes(as: unknown)
    }

    package var attemptsLeft: Int { max(0, Self.limit - failures) }

    /// Whether this tag is that of the passcode counted last.
    package func isLast(_ tag: [UInt8]) -> Bool {
        guard let lastTag else { return false }
        return ConstantTime.equal(lastTag.span, tag.span)
    }

    /// Returns a copy in which the passcode with this tag is counted and not yet compared.
    package func counting(_ tag: [UInt8]) -> AttemptRecord {
        var counted = self
        if !isLast(tag) { counted.failures += 1 }
        counted.lastTag = tag
        counted.isPending = true
        return counted
    }

    /// Returns a copy in which the pending passcode was compared with the keybag's. A keybag that an earlier
    /// release wrote has no tag to compare with; the passcode then stays counted, since it may have been
    /// evaluated.
    package func settled(by passcodeTag: [UInt8]?) -> AttemptRecord {
        guard isPending, let passcodeTag else { return self }
        guard !isLast(passcodeTag) else { return AttemptRecord() }
        var settled = self
        settled.isPending = false
        return settled
    }

    package func encode(to writer: inout BinaryWriter) {
        writer.append(UInt32(failures))
        writer.append([lastTag == nil ? 0 : isPending ? 2 : 1, 0, 0, 0])
        writer.append(lastTag ?? [UInt8](repeating: 0, count: 32))
        writer.append(UInt64(clamping: lastFailure.nanoseconds))
        writer.appendText(bootIdentifier)
    }

    package init(from reader: inout BinaryReader) throws(CofferError) {
        failures = Int(try reader.number(UInt32.self))
        let kind = try reader.take(4)[0]
        guard kind <= 2 else { throw reader.corruptError }
        let tag = try reader.take(32)
        lastTag = kind > 0 ? tag : nil
        isPending = kind == 2
        lastFailure = .nanoseconds(Int64(clamping: try reader.number(UInt64.self)))
        bootIdentifier = try reader.text()
    }
}

extension Duration {
    /// Whole nanoseconds, clamped.
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? (seconds < 0 ? .min : .max) : product + attoseconds / 1_000_000_000
    }
}
