/// A second of the Gregorian calendar in UTC.
struct CalendarTime {
    let year: Int
    /// Month, day, hour, minute and second with two digits each, and a Z.
    let rest: [UInt8]

    /// Creates the time of a number of seconds since 1970; `nil` before 1970 and after 9996.
    init?(_ seconds: Int64) {
        guard 0..<253_300_000_000 ~= seconds else { return nil }
        let (days, second) = (Int(seconds / 86_400), Int(seconds % 86_400))
        // Years begin in March here, so that the day that leap years have is their last one.
        let shifted = days + 719_468
        let (era, day) = (shifted / 146_097, shifted % 146_097)
        let yearOfEra = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let isNextYear = month >= 10
        year = era * 400 + yearOfEra + (isNextYear ? 1 : 0)
        let parts = [
            isNextYear ? month - 9 : month + 3, dayOfYear - (153 * month + 2) / 5 + 1, second / 3600,
            second / 60 % 60, second % 60,
        ]
        rest = parts.flatMap { Self.digits($0, 2) } + [UInt8(ascii: "Z")]
    }

    /// Returns a number in ASCII with this many digits.
    static func digits(_ number: Int, _ count: Int) -> [UInt8] {
        var (rest, digits) = (number, [UInt8](repeating: UInt8(ascii: "0"), count: count))
        for place in digits.indices.reversed() {
            digits[place] += UInt8(rest % 10)
            rest /= 10
        }
        return digits
    }
}
