import CofferBase
import CofferCommandLine
import FoundationEssentials

/// Functions that parse dates on the command line.
enum ISODate {
    /// Parses a date in ISO 8601 format.
    ///
    /// - Parameters:
    ///   - text: A date such as 2027-01-31T12:00:00Z.
    ///   - option: The option's name, for the error message.
    /// - Returns: The date that the text specifies.
    /// - Throws: `invalidInput` if the text is not such a date, or if the date is before 1970 or after 2261.
    static func parse(_ text: String, of option: String) throws(CofferError) -> Date {
        guard let date = Self.date(text) else {
            throw CofferError(
                .invalidInput,
                "\(option) takes a date from 1970 to 2261 such as 2027-01-31T12:00:00Z.")
        }
        return date
    }

    /// Returns the date, or `nil` if the text is not a date or the date is before 1970 or after 2261.
    static func date(_ text: String) -> Date? {
        guard let date = try? Date(text, strategy: .iso8601), isInCalendar(text), storable.contains(date)
        else { return nil }
        return date
    }

    /// The range of dates that can be represented in nanoseconds since 1970.
    private static let storable = Date(timeIntervalSince1970: 0)..<Date(timeIntervalSince1970: 9_214_646_400)

    /// Reports whether the day exists in the calendar. The parser itself would interpret 31 February as 3
    /// March.
    private static func isInCalendar(_ text: String) -> Bool {
        let day = String(Substring(text.utf8.prefix { $0 != UInt8(ascii: "T") }))
        return (try? Date(day + "T00:00:00Z", strategy: .iso8601))?.iso8601.utf8.hasPrefix(day) ?? false
    }
}
