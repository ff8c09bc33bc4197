import CofferBase
import FoundationEssentials

/// A time on the command line, in the forms in which people write it.
enum TimeArgument {
    /// A number of seconds, counted from the time of use.
    case duration(Int)
    /// A point in time.
    case date(Date)

    /// The maximum duration in seconds, which is a century.
    static let maxSeconds = 3_153_600_000

    /// The forms of a time, for error messages.
    static let forms =
        "seconds, a duration such as 10m, 1h30m, 90d or 2w, or a date such as 2027-01-31 or "
        + "2027-01-31T12:00:00Z"

    /// Parses a time. Returns `nil` for anything else, more than a century, or a date before 1970 or after
    /// 2261.
    ///
    /// - Parameter text: A number of seconds; a duration as ``seconds(ofDuration:)`` takes it; a day
    ///   (`2027-01-31`), which means its beginning in UTC; or a day and a time with a zone
    ///   (`2027-01-31T12:00:00Z`).
    /// - Returns: The time.
    static func read(_ text: String) -> TimeArgument? {
        let bytes = Array(text.utf8)[...]
        let isNumber = !bytes.isEmpty && digits(bytes).count == bytes.count
        if let seconds = Self.seconds(ofDuration: isNumber ? text + "s" : text) { return .duration(seconds) }
        // More seconds than a century, even if there are as many digits as in a day.
        guard !isNumber else { return nil }
        let isDay = bytes.count == 10 && !bytes.contains(UInt8(ascii: "T"))
        return ISODate.date(isDay ? text + "T00:00:00Z" : text).map { .date($0) }
    }

    /// Parses a time as ``read(_:)`` does.
    ///
    /// - Parameters:
    ///   - text: The time.
    ///   - option: The option's name, for the error message.
    /// - Returns: The time.
    /// - Throws: `invalidInput`.
    static func parse(_ text: String, of option: String) throws(CofferError) -> TimeArgument {
        guard let time = read(text) else {
            throw CofferError(
                .invalidInput,
                "\(option) takes \(forms); at most a century from now, or a date from 1970 to 2261.")
        }
        return time
    }

    /// Refuses a number that could mean either seconds or a year.
    ///
    /// - Parameters:
    ///   - text: The time.
    ///   - option: The option's name, for the error message.
    /// - Throws: `invalidInput` if the text is a plain number from 1900 to 2999.
    static func refuseYear(_ text: String, of option: String) throws(CofferError) {
        let bytes = Array(text.utf8)[...]
        guard bytes.count == 4, digits(bytes).count == 4, (1900...2999).contains(Int(text) ?? 0) else {
            return
        }
        throw CofferError(
            .invalidInput,
            "\(option) \(text) could mean seconds or a year. Write \(text)s for seconds or \(text)-01-01 "
                + "for a date.")
    }

    /// Returns the seconds of a duration, or `nil` for anything else and for more than a century.
    ///
    /// - Parameter text: Numbers with units, the largest unit first (`90d`, `1h30m`; w, d, h, m, s), or the
    ///   same in the form of ISO 8601 (`P90D`, `PT1H30M`).
    /// - Returns: The number of seconds.
    static func seconds(ofDuration text: String) -> Int? {
        let bytes = Array(text.utf8)[...]
        return sum(bytes, dayUnits + timeUnits) ?? isoSum(bytes)
    }

    /// Returns the point in time that the value specifies. A duration is counted from `now`.
    func date(from now: Date) -> Date {
        switch self {
        case .duration(let seconds): now + TimeInterval(seconds)
        case .date(let date): date
        }
    }

    /// Returns the number of seconds from `now` to the time, rounded up. The number is negative if the time
    /// is in the past.
    func seconds(from now: Date) -> Int {
        switch self {
        case .duration(let seconds): seconds
        case .date(let date): Int(date.timeIntervalSince(now).rounded(.up))
        }
    }

    private typealias Unit = (mark: UInt8, seconds: Int)
    private static let dayUnits: [Unit] = [(UInt8(ascii: "w"), 604_800), (UInt8(ascii: "d"), 86_400)]
    private static let timeUnits: [Unit] = [
        (UInt8(ascii: "h"), 3600), (UInt8(ascii: "m"), 60), (UInt8(ascii: "s"), 1),
    ]

    private static func digits(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        bytes.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    /// Adds up numbers with units. Each unit may occur at most once, and the units must be in the given
    /// order.
    private static func sum(_ bytes: ArraySlice<UInt8>, _ units: [Unit]) -> Int? {
        guard !bytes.isEmpty else { return nil }
        var rest = bytes
        var left = units[...]
        var total = 0
        while !rest.isEmpty {
            let number = digits(rest)
            rest = rest.dropFirst(number.count)
            // Ten digits of weeks do not overflow.
            guard number.count <= 10, let count = Int(String(decoding: number, as: UTF8.self)),
                let mark = rest.popFirst(), let place = left.firstIndex(where: { $0.mark == mark })
            else { return nil }
            total += count * left[place].seconds
            left = left[(place + 1)...]
            guard total <= maxSeconds else { return nil }
        }
        return total
    }

    /// Adds up an ISO 8601 duration: `P`, weeks and days, and then, after `T`, hours, minutes and seconds.
    /// Months and years are not accepted, because their length is not fixed.
    private static func isoSum(_ bytes: ArraySlice<UInt8>) -> Int? {
        guard bytes.first == UInt8(ascii: "P") else { return nil }
        let parts = bytes.dropFirst().split(
            separator: UInt8(ascii: "T"), maxSplits: 1, omittingEmptySubsequences: false)
        func capitals(_ units: [Unit]) -> [Unit] {
            units.map { unit in (mark: unit.mark & ~0x20, seconds: unit.seconds) }
        }
        guard parts.count == 2 else { return sum(bytes.dropFirst(), capitals(dayUnits)) }
        let days = parts[0].isEmpty ? 0 : sum(parts[0], capitals(dayUnits))
        guard let days, let rest = sum(parts[1], capitals(timeUnits)) else { return nil }
        return days + rest <= maxSeconds ? days + rest : nil
    }
}
