import CofferBase

/// The members of a JSON object, which are taken out one by one, so that a member nobody knows is noticed.
struct JSONMembers {
    private var members: [String: JSONValue]
    private let code: CofferError.Code
    private let subject: String
    private let remedy: CofferError.Remedy?

    /// Creates a reader of a value that must be an object.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - subject: What the object describes, at the beginning of messages.
    ///   - code: The code of the error that is thrown if the object is invalid.
    ///   - remedy: The remedy of that error.
    /// - Throws: `code` if the value is not an object.
    init(
        _ value: JSONValue, of subject: String, code: CofferError.Code, remedy: CofferError.Remedy? = nil
    ) throws(CofferError) {
        self.subject = subject
        self.code = code
        self.remedy = remedy
        members = value.object ?? [:]
        guard value.object != nil else { throw invalid("it is not a JSON object") }
    }

    /// Parses a document of a limited size and depth.
    ///
    /// - Throws: `code` if the document is too large, is not strict JSON, is nested too deep, or is not an
    ///   object.
    init(
        parsing bytes: [UInt8], atMost limit: Int, of subject: String, code: CofferError.Code,
        remedy: CofferError.Remedy? = nil
    ) throws(CofferError) {
        self.subject = subject
        self.code = code
        self.remedy = remedy
        members = [:]
        guard bytes.count <= limit else { throw invalid("it is longer than \(limit) bytes") }
        let value: JSONValue
        do throws(CofferError) {
            value = try JSONValue(parsing: bytes)
        } catch {
            throw invalid("it is not strict JSON")
        }
        guard value.nests(atMost: 16) else { throw invalid("it is nested more than 16 levels deep") }
        guard let object = value.object else { throw invalid("it is not a JSON object") }
        members = object
    }

    /// Returns the error for an invalid object.
    func invalid(_ reason: String) -> CofferError {
        CofferError(code, "\(subject) is invalid: \(reason).", remedy: remedy)
    }

    private func wrong(_ name: String, _ expected: String) -> CofferError {
        invalid("the member \(name) must be \(expected)")
    }

    /// Takes out a member; `nil` if there is none.
    mutating func take(_ name: String) -> JSONValue? { members.removeValue(forKey: name) }

    /// Takes out a member; throws if there is none.
    mutating func required(_ name: String) throws(CofferError) -> JSONValue {
        guard let value = take(name) else { throw invalid("the member \(name) is missing") }
        return value
    }

    /// Takes out a text; `nil` if there is none.
    mutating func text(_ name: String) throws(CofferError) -> String? {
        guard let value = take(name) else { return nil }
        guard let text = value.string else { throw wrong(name, "a string") }
        return text
    }

    /// Takes out a text; throws if there is none.
    mutating func requiredText(_ name: String) throws(CofferError) -> String {
        guard let text = try text(name) else { throw invalid("the member \(name) is missing") }
        return text
    }

    /// Takes out a list of texts; `nil` if there is none.
    mutating func texts(_ name: String) throws(CofferError) -> [String]? {
        guard let value = take(name) else { return nil }
        guard let list = value.array else { throw wrong(name, "an array of strings") }
        let texts = list.compactMap(\.string)
        guard texts.count == list.count else { throw wrong(name, "an array of strings") }
        return texts
    }

    /// Takes out a Boolean value; `nil` if there is none.
    mutating func flag(_ name: String) throws(CofferError) -> Bool? {
        guard let value = take(name) else { return nil }
        guard let flag = value.bool else { throw wrong(name, "true or false") }
        return flag
    }

    /// Takes out a whole number; `nil` if there is none.
    mutating func number(_ name: String) throws(CofferError) -> Int64? {
        guard let value = take(name) else { return nil }
        guard let number = value.integer else { throw wrong(name, "a whole number") }
        return number
    }

    /// Takes out a URL; `nil` if there is none.
    mutating func url(_ name: String) throws(CofferError) -> HTTPSURL? {
        guard let text = try text(name) else { return nil }
        do throws(CofferError) {
            return try HTTPSURL(text)
        } catch {
            throw invalid("the member \(name) is not an https URL of the accepted form")
        }
    }

    /// Takes out a word of a list; `nil` if there is none.
    mutating func word<Word: RawRepresentable<String>>(
        _ name: String, as type: Word.Type
    ) throws(CofferError) -> Word? {
        guard let text = try text(name) else { return nil }
        guard let word = Word(rawValue: text), word.rawValue.hasSameBytes(as: text) else {
            throw wrong(name, "a word that this release knows")
        }
        return word
    }

    /// Takes out an object; `nil` if there is none.
    mutating func object(_ name: String) throws(CofferError) -> JSONMembers? {
        guard let value = take(name) else { return nil }
        guard value.object != nil else { throw wrong(name, "an object") }
        return try JSONMembers(value, of: subject, code: code, remedy: remedy)
    }

    /// The names of the members that were not taken out, in the order of their bytes.
    private var rest: [String] {
        members.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Throws if a member is left that nobody took out.
    func finish() throws(CofferError) {
        guard let first = rest.first else { return }
        throw invalid("the member \(first.utf8.count <= 64 ? first : "with a long name") is unknown")
    }
}

extension JSONValue {
    /// Whether arrays and objects are nested at most so many levels deep.
    func nests(atMost depth: Int) -> Bool {
        switch self {
        case .array(let elements): depth > 0 && elements.allSatisfy { $0.nests(atMost: depth - 1) }
        case .object(let members): depth > 0 && members.values.allSatisfy { $0.nests(atMost: depth - 1) }
        default: true
        }
    }
}
