/// The dates of an identity document.
enum IdentityDate {
    /// Returns the time in milliseconds since 1970.
    ///
    /// Exactly two shapes are dates: `2010-06-28T20:54:09.000Z` and `2010-06-28T20:54:09.000+0000`. Leap
    /// seconds and days that do not exist are none.
    ///
    /// - Parameter text: The text.
    /// - Returns: `nil` for every other text.
    static func milliseconds(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        let shape = Array("0000-00-00T00:00:00.000".utf8)
        guard bytes.count >= shape.count else { return nil }
        let zone = bytes[shape.count...]
        guard zone.elementsEqual("Z".utf8) || zone.elementsEqual("+0000".utf8) else { return nil }
        for (byte, expected) in zip(bytes, shape) {
            let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            guard expected == UInt8(ascii: "0") ? isDigit : byte == expected else { return nil }
        }
        let field = { (range: Range<Int>) in WireText.number(bytes[range]) ?? -1 }
        let (year, month, day) = (field(0..<4), field(5..<7), field(8..<10))
        let (hour, minute, second) = (field(11..<13), field(14..<16), field(17..<19))
        guard year > 0, (1...12).contains(month), (1...days(of: month, in: year)).contains(day), hour < 24,
            minute < 60, second < 60
        else { return nil }
        let time = (hour * 60 + minute) * 60 + second
        return (dayNumber(year, month, day) * 86400 + time) * 1000 + field(20..<23)
    }

    private static func isLeap(_ year: Int64) -> Bool {
        year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    }

    private static func days(of month: Int64, in year: Int64) -> Int64 {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// The number of days since the beginning of 1970.
    private static func dayNumber(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let past = year - 1
        var number = past * 365 + past / 4 - past / 100 + past / 400 - 719_162
        for earlier in 1..<month { number += days(of: earlier, in: year) }
        return number + day - 1
    }
}
