import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

/// The count of wrong passcodes, in two slots updated in place and authenticated under the device key.
///
/// It goes up, flushed, **before** a passcode is evaluated, so that no crash and no kill gives a free guess.
/// The tag of the last wrong passcode (an HMAC under a key derived from it by the full Argon2id, so it is no
/// shortcut) lets the same mistake made twice count once. A copy of the file put back resets the count: files
/// alone cannot prevent that.
///
/// Payload: failures (4), whether there is a tag (1), 3 zero, tag (32), time of the last failure since boot
/// in nanoseconds (8), boot identifier (36 bytes).
struct Attempts: Equatable {
    static let record = SlotRecord(
        name: "attempts", magic: Magic.attempts, slotSize: 512, what: "attempt counter")
    /// The failure that erases everything.
    static let limit = 10

    var failures = 0
    var lastWrongTag: [UInt8]?
    var lastFailure = Duration.zero
    var bootIdentifier = ""

    /// How long to wait after so many failures: nothing for the first four, then one second, doubling.
    static func delay(after failures: Int) -> Duration {
        failures < 5 ? .zero : .seconds(1 << min(failures - 5, 20))
    }

    /// How long to wait now. After a reboot the full delay starts anew: the clock since boot says nothing of
    /// before.
    func remainingDelay(now: Duration, bootIdentifier: String) -> Duration {
        let since = bootIdentifier == self.bootIdentifier ? now - lastFailure : now
        return max(.zero, Self.delay(after: failures) - since)
    }

    /// Whether the last failure lies ahead in this very boot: the clock was set back, and the delay starts
    /// anew.
    func isAhead(of now: Duration, bootIdentifier: String) -> Bool {
        bootIdentifier == self.bootIdentifier && now < lastFailure
    }

    var left: Int { max(0, Self.limit - failures) }

    var encoded: [UInt8] {
        var writer = ByteWriter()
        writer.append(UInt32(failures))
        writer.append([lastWrongTag == nil ? 0 : 1, 0, 0, 0])
        writer.append(lastWrongTag ?? [UInt8](repeating: 0, count: 32))
        writer.append(UInt64(clamping: lastFailure.nanoseconds))
        writer.appendText(bootIdentifier)
        return writer.bytes
    }

    static func decode(_ payload: [UInt8]) throws(CofferError) -> Attempts {
        var reader = ByteReader(payload, what: record.what)
        var attempts = Attempts()
        attempts.failures = Int(try reader.number(UInt32.self))
        let hasTag = try reader.take(4)[0] == 1
        let tag = try reader.take(32)
        attempts.lastWrongTag = hasTag ? tag : nil
        attempts.lastFailure = .nanoseconds(Int64(clamping: try reader.number(UInt64.self)))
        attempts.bootIdentifier = try reader.text()
        return attempts
    }

    /// The tag of a passcode, from what Argon2id made of it.
    static func tag(of derived: borrowing SymmetricKey, device: DeviceRecord) throws(CofferError) -> [UInt8] {
        let context = device.vaultID.bytes
        let key = try HKDF.deriveKey(
            from: derived, and: device.deviceKey().key, info: Label.attemptTag, context: context.span)
        return try HMAC.authenticate(context.span, key: key)
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
