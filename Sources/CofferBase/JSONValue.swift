/// A JSON value.
///
/// Whole numbers of any size are kept exactly. Two keys that differ only in their Unicode composition are the
/// same key, as in Swift's `String` comparison.
///
/// ```swift
/// let account: JSONValue = ["Name": "Cloud Inc", "Owner": ["Name": "Ada"], "Rating": 5]
/// let name = account["Name"]?.string
/// ```
public enum JSONValue: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A 64-bit whole number.
    case integer(Int64)
    /// The digits of a whole number that does not fit 64 bits, after a minus sign if it is negative.
    case bigInteger(String)
    /// A number with a fraction or an exponent; finite.
    case number(Double)
    /// Text.
    case string(String)
    /// A list.
    case array([JSONValue])
    /// Values by key.
    case object([String: JSONValue])
}

extension JSONValue {
    /// The deepest allowed nesting of arrays and objects.
    static let maximumDepth = 500

    /// The text, if it is one.
    public var string: String? { if case .string(let text) = self { text } else { nil } }

    /// The whole number, if it is one and fits 64 bits.
    public var integer: Int64? { if case .integer(let number) = self { number } else { nil } }

    /// The number as a floating-point one, if it is a number.
    public var double: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .bigInteger(let digits): Double(digits)
        case .number(let number): number
        default: nil
        }
    }

    /// The Boolean value, if it is one.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The elements, if it is an array.
    public var array: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }

    /// The values by key, if it is an object.
    public var object: [String: JSONValue]? { if case .object(let fields) = self { fields } else { nil } }

    /// The value under `key` of an object. Setting it turns any other value into an object.
    public subscript(key: String) -> JSONValue? {
        get { object?[key] }
        set {
            var fields = object ?? [:]
            fields[key] = newValue
            self = .object(fields)
        }
    }

    /// The element at `index` of an array; `nil` outside it.
    public subscript(index: Int) -> JSONValue? {
        guard let array, array.indices.contains(index) else { return nil }
        return array[index]
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// `null`.
    public init(nilLiteral: ()) { self = .null }
    /// A truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// A whole number.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// A number with a fraction.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// Text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// A list.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// An object; of duplicate keys, the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { _, later in later })
    }
}
