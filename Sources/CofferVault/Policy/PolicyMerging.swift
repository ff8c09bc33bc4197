import CofferBase

/// The rules by which values of several sources become one.
extension PolicyKey {
    /// Returns the stricter of two values of a restriction, or what both together require. The result does
    /// not depend on the order.
    func strictest(_ one: PolicyValue, _ other: PolicyValue) -> PolicyValue {
        switch (form, one, other) {
        case (.flag(let strictest?), .flag(let a), .flag(let b)): return .flag(a == b ? a : strictest)
        case (.number(_, let rule), .number(let a), .number(let b)): return .number(rule.strictest(a, b))
        case (.word(let words), .text(let a), .text(let b)):
            let rank = { (word: String) in words.firstIndex { $0.hasSameBytes(as: word) } ?? 0 }
            return rank(a) >= rank(b) ? one : other
        case (.words, .list(let a), .list(let b)):
            return .list(Self.ordered(Self.set(a).intersection(Self.set(b))))
        case (.recipients, .list(let a), .list(let b)):
            return .list(Self.ordered(Self.set(a).union(Self.set(b))))
        case (.addresses, .list(let a), .list(let b)):
            let ranges = AddressRange.intersection(
                a.compactMap { AddressRange($0) }, b.compactMap { AddressRange($0) })
            return .list(ranges.map(\.text))
        default: return one
        }
    }

    private static func set(_ texts: [String]) -> Set<[UInt8]> { Set(texts.map { Array($0.utf8) }) }
}

extension PolicyKey.NumberRule {
    fileprivate func strictest(_ one: Int, _ other: Int) -> Int {
        switch self {
        case .least: min(one, other)
        case .greatest: max(one, other)
        case .leastButZero: one == 0 ? other : other == 0 ? one : min(one, other)
        }
    }
}
