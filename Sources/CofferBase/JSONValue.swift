/// A JSON value.
///
/// Whole numbers of any size are stored exactly. Two keys that differ only in their Unicode composition are
/// the same key, as in Swift's `String` comparison.
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
    /// A whole number that fits in 64 bits.
    case integer(Int64)
    /// A whole number that does not fit in 64 bits: its digits, after a minus sign if the number is negative.
    case bigInteger(String)
    /// A finite number with a fraction or an exponent.
    case number(Double)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object: values by key.
    case object([String: JSONValue])
}

extension JSONValue {
    /// The deepest allowed nesting of arrays and objects.
    static let maximumDepth = 500

    /// A string's text; `nil` for any other value.
    public var string: String? { if case .string(let text) = self { text } else { nil } }

    /// A whole number that fits in 64 bits; `nil` for any other value.
    public var integer: Int64? { if case .integer(let number) = self { number } else { nil } }

    /// A number as a `Double`; `nil` for any other value.
    public var double: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .bigInteger(let digits): Double(digits)
        case .number(let number): number
        default: nil
        }
    }

    /// The Boolean value; `nil` for any other value.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// An array's elements; `nil` for any other value.
    public var array: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }

    /// An object's values by key; `nil` for any other value.
    public var object: [String: JSONValue]? { if case .object(let fields) = self { fields } else { nil } }

    /// The value for `key` in an object; `nil` if there is none. Setting a key on a value that is not an
    /// object replaces the value with an object.
    public subscript(key: String) -> JSONValue? {
        get { object?[key] }
        set {
            var fields = object ?? [:]
            fields[key] = newValue
            self = .object(fields)
        }
    }

    /// The element at `index` in an array; `nil` if there is none.
    public subscript(index: Int) -> JSONValue? {
        guard let array, array.indices.contains(index) else { return nil }
        return array[index]
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// Creates `null`.
    public init(nilLiteral: ()) { self = .null }
    /// Creates a Boolean value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates a whole number.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Creates a number from a floating-point literal.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// Creates a string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates an array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// Creates an object. If a key occurs more than once, its last value is used.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { _, later in later })
    }
}
