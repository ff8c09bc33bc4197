package import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// The count of wrong passcodes, stored in two slots that are updated in place and authenticated under a key
/// derived from the device key.
///
/// The count is increased and flushed **before** a passcode is compared with the keybag's, so a crash or a
/// kill never leaves a guess uncounted. The record contains that passcode's tag: if a kill leaves the
/// passcode pending, the next attempt compares it, so no passcode counts without a comparison. Repeating the
/// last passcode does not increase the count. Restoring an older copy of the file resets the count. The
/// record alone cannot detect such a restore, but a ``RollbackGuard`` can.
///
/// Payload: failures (4), tag kind (1; 0: no tag, 1: the tag of a wrong passcode, 2: the tag of a pending
/// passcode, which was counted but has no recorded comparison), the limit of the administrator's policy (1;
/// 0: none), 2 zero bytes, tag (32), time from boot to the
/// last failure in nanoseconds (8), boot identifier length (4), and boot identifier (UTF-8; 36 bytes if it is
/// known).
package struct AttemptRecord: Equatable, RecordPayload {
    package static let record = AuthenticatedRecord<AttemptRecord>(
        name: "attempts", magic: FileMagic.attempts, keyLabel: KDFLabel.attemptsMAC, slotSize: 512,
        displayName: "attempt counter", remedy: .restoreOrWipeVault)
    /// The number of failures after which everything is erased, unless the vault never erases.
    package static let limit = 10
    /// The longest delay. Because the delay starts again at every boot, a longer one could keep the owner of
    /// a machine that is switched off every day from ever trying again.
    package static let maxDelay = Duration.seconds(3600)
    /// The highest number of failures that the record can hold; the count stops at this number.
    private static let maxFailures = Int(UInt32.max)

    /// The number of wrong passcodes, including a pending one.
    package var failures = 0
    /// The ``DerivedPasscode/tag`` of the passcode that was counted last; `nil` if no passcode was counted.
    package var lastTag: [UInt8]?
    /// Whether the passcode with the tag `lastTag` was counted but its comparison was not recorded.
    package var isPending = false
    /// The number of wrong passcodes after which the administrator's policy erases everything, as it was when
    /// the last passcode was counted; `nil` if the policy does not.
    package var limit: Int?
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

    /// Returns the delay after a number of failures: zero for up to four failures, one second for five, and
    /// twice the previous delay for each further failure, but at most ``maxDelay``.
    package static func delay(after failures: Int) -> Duration {
        failures < 5 ? .zero : min(Duration.seconds(1 << min(failures - 5, 20)), maxDelay)
    }

    /// Returns the remaining delay. After a reboot, the full delay starts again at the boot, because the boot
    /// clock does not include the time before the boot.
    package func remainingDelay(now: Duration, bootIdentifier: String) -> Duration {
        let since = isSameBoot(bootIdentifier) ? now - lastFailure : now
        return max(.zero, Self.delay(after: failures) - since)
    }

    /// Returns whether the recorded time of the last failure is later than `now` in the same boot. If it is,
    /// the clock was set back, and the delay starts again.
    package func isClockRolledBack(now: Duration, bootIdentifier: String) -> Bool {
        isSameBoot(bootIdentifier) && now < lastFailure
    }

    /// Returns whether the last failure occurred during the boot with this identifier. If either boot is
    /// unknown, the two count as the same boot. This assumption can lengthen a delay but never shorten one.
    private func isSameBoot(_ identifier: String) -> Bool {
        let unknown = VaultClock.unknownBoot
        return [identifier, unknown].contains { $0.hasSameBytes(as: bootIdentifier) }
            || identifier.hasSameBytes(as: unknown)
    }

    /// The number of wrong passcodes that remain in a vault that is erased after the tenth.
    package var attemptsLeft: Int { max(0, Self.limit - failures) }

    /// Returns whether `tag` is the tag of the passcode that was counted last.
    package func isLast(_ tag: [UInt8]) -> Bool {
        guard let lastTag else { return false }
        return ConstantTime.equal(lastTag.span, tag.span)
    }

    /// Returns a copy in which the passcode with this tag is counted, under a limit of the policy, but not
    /// yet compared.
    package func counting(_ tag: [UInt8], limit: Int? = nil) -> AttemptRecord {
        var counted = self
        counted.limit = limit
        if !isLast(tag) { counted.failures = min(failures + 1, Self.maxFailures) }
        counted.lastTag = tag
        counted.isPending = true
        return counted
    }

    /// Returns a copy in which any pending passcode has been compared with the keybag's passcode tag. If a
    /// keybag from an earlier release has no tag, the passcode stays counted and pending, because it may have
    /// been evaluated already.
    package func settled(by passcodeTag: [UInt8]?) -> AttemptRecord {
        guard isPending, let passcodeTag else { return self }
        guard !isLast(passcodeTag) else { return AttemptRecord() }
        var settled = self
        settled.isPending = false
        return settled
    }

    package func encode(to writer: inout BinaryWriter) {
        writer.append(UInt32(failures))
        writer.append([lastTag == nil ? 0 : isPending ? 2 : 1, UInt8(clamping: limit ?? 0), 0, 0])
        writer.append(lastTag ?? [UInt8](repeating: 0, count: 32))
        writer.append(UInt64(clamping: lastFailure.nanoseconds))
        writer.appendText(bootIdentifier)
    }

    package init(from reader: inout BinaryReader) throws(CofferError) {
        failures = Int(try reader.number(UInt32.self))
        let flags = try reader.take(4)
        let kind = flags[0]
        guard kind <= 2, flags[1] <= Self.limit else { throw reader.corruptError }
        limit = flags[1] == 0 ? nil : Int(flags[1])
        let tag = try reader.take(32)
        lastTag = kind > 0 ? tag : nil
        isPending = kind == 2
        lastFailure = .nanoseconds(Int64(clamping: try reader.number(UInt64.self)))
        bootIdentifier = try reader.text()
    }
}

extension Duration {
    /// The duration in whole nanoseconds, clamped to the range of `Int64`.
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? (seconds < 0 ? .min : .max) : product + attoseconds / 1_000_000_000
    }
}
