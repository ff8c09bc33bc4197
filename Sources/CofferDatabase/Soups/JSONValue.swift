/// One JSON value, as a soup keeps it.
///
/// Whole numbers are kept exactly, whatever their size. Two keys that differ only in how Unicode composes
/// their characters are one key, as Swift's `String` compares.
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
    /// A whole number of 64 bits.
    case integer(Int64)
    /// The digits of a whole number that does not fit 64 bits, with a minus sign before a negative one.
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
    /// How deep arrays and objects may lie in each other.
    static let maximumDepth = 500

    /// The text, if it is one.
    public var string: String? { if case .string(let text) = self { text } else { nil } }

    /// The whole number, if it is one of 64 bits.
    public var integer: Int64? { if case .integer(let number) = self { number } else { nil } }

    /// The number as a floating one, if it is any.
    public var double: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .bigInteger(let digits): Double(digits)
        case .number(let number): number
        default: nil
        }
    }

    /// The truth value, if it is one.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The elements, if it is an array.
    public var array: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }

    /// The values by key, if it is an object.
    public var object: [String: JSONValue]? { if case .object(let fields) = self { fields } else { nil } }

    /// The value under `key` of an object; setting it makes an object of anything else.
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

    /// The id under which a soup keeps this document.
    public var soupEntryID: Int64? { self[SoupField.entryID]?.integer }

    /// When a soup last changed this document, in milliseconds since 1970.
    public var soupLastModifiedDate: Int64? { self[SoupField.lastModified]?.integer }

    /// When a soup took this document in, in milliseconds since 1970.
    public var soupCreatedDate: Int64? { self[SoupField.created]?.integer }
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
    /// An object; of a key that stands twice, the later value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { _, later in later })
    }
}

/// The names that every soup has beside its index paths.
enum SoupField {
    static let document = "_soup"
    static let entryID = "_soupEntryId"
    static let created = "_soupCreatedDate"
    static let lastModified = "_soupLastModifiedDate"
    static let lastViewed = "_soupLastViewedDate"
    static let fullText = "_fullText"

    /// Those that are columns of every soup.
    static let columns: Set<String> = [document, entryID, created, lastModified, lastViewed]
}
