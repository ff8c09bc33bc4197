import CofferBase
import Synchronization

/// The difference between a server's clock and this machine's, which signed requests and the checks of signed
/// tokens take into account.
package final class ServerTime: Sendable {
    private let difference: Mutex<Int64?>

    /// Creates a difference.
    ///
    /// - Parameter skew: The difference in seconds that was measured earlier; `nil` if none was.
    package init(skew: Int64? = nil) { difference = Mutex(skew) }

    /// The seconds by which the server's clock is ahead; `nil` if they are unknown.
    package var skew: Int64? { difference.withLock { $0 } }

    /// Takes over the time in a response's field `Date`, if there is a valid one.
    func learn(from response: HTTPResponse, now: Int64) {
        let fields = response.headers.filter { $0.name.hasSameBytes(as: "date") }
        guard fields.count == 1, let date = fields.first.flatMap({ Self.seconds($0.value) }) else { return }
        difference.withLock { $0 = date - now }
    }

    /// Returns the seconds since 1970 of a date such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section
    /// 5.6.7); `nil` for any other text.
    static func seconds(_ text: String) -> Int64? {
        let words = text.parts(between: " ")
        guard words.count == 6, words[0].utf8.count == 4, words[5].hasSameBytes(as: "GMT"),
            let day = number(words[1], 2), let month = month(words[2]), let year = number(words[3], 4)
        else { return nil }
        let parts = words[4].parts(between: ":", keepsEmpty: true)
        guard parts.count == 3, let hour = number(parts[0], 2), let minute = number(parts[1], 2),
            let second = number(parts[2], 2), (1970...9999).contains(year), (1...31).contains(day),
            hour < 24, minute < 60, second < 61
        else { return nil }
        return days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second
    }

    private static func number(_ text: String, _ count: Int) -> Int64? {
        text.utf8.count == count ? WireText.number(text.utf8) : nil
    }

    private static func month(_ name: String) -> Int64? {
        let names = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]
        return names.firstIndex { $0.hasSameBytes(as: name) }.map { Int64($0) + 1 }
    }

    /// The days from 1970 to a date of the Gregorian calendar, with years that begin in March.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
