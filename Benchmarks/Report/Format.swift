/// Figures as text.
package enum Format {
    /// `value` with this many digits after the point; a dash if it is no number or too large to be a figure.
    package static func fixed(_ value: Double, _ digits: Int) -> String {
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        let rounded = (value.magnitude * scale).rounded()
        guard rounded < 1e18 else { return "–" }
        let scaled = Int64(rounded)
        let sign = value < 0 && scaled > 0 ? "-" : ""
        guard digits > 0 else { return sign + String(scaled) }
        let whole = scaled / Int64(scale)
        let fraction = String(scaled % Int64(scale))
        let zeros = String(repeating: "0", count: digits - fraction.count)
        return "\(sign)\(whole).\(zeros)\(fraction)"
    }

    /// A time or an amount with three significant digits and its unit.
    package static func quantity(_ value: Double, _ unit: String) -> String {
        guard unit == "ns" else { return significant(value) + " " + unit }
        switch value {
        case ..<1e3: return significant(value) + " ns"
        case ..<1e6: return significant(value / 1e3) + " µs"
        case ..<1e9: return significant(value / 1e6) + " ms"
        default: return significant(value / 1e9) + " s"
        }
    }

    /// A ratio as the table shows it.
    package static func ratio(_ value: Double) -> String { fixed(value, 3) + " x" }

    /// Text padded to `width`, on the left or on the right.
    package static func pad(_ text: String, _ width: Int, left: Bool = false) -> String {
        let space = String(repeating: " ", count: max(0, width - text.count))
        return left ? space + text : text + space
    }

    private static func significant(_ value: Double) -> String {
        fixed(value, value < 10 ? 2 : value < 100 ? 1 : 0)
    }
}
