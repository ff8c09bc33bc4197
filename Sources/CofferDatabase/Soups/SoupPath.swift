import CofferBase

/// A parsed path to a value in a document.
struct SoupPath: Sendable, Hashable {
    private static let maximumLength = 1024
    private static let maximumDepth = 64

    let text: String
    let components: [String]

    init(_ text: String) throws(CofferError) {
        guard !text.isEmpty else { throw CofferError(.invalidInput, "A path cannot be empty.") }
        guard text.utf8.count <= Self.maximumLength else {
            throw CofferError(.invalidInput, "A path must be at most \(Self.maximumLength) bytes long.")
        }
        guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw CofferError(.invalidInput, "A path cannot contain control characters.")
        }
        self.text = text
        components = try Self.components(of: text)
        guard components.count <= Self.maximumDepth else {
            throw CofferError(.invalidInput, "A path can have at most \(Self.maximumDepth) keys.")
        }
    }

    /// Splits a path by scalars, not by characters: a dot before a combining mark also separates keys.
    private static func components(of text: String) throws(CofferError) -> [String] {
        var components: [String] = []
        var key = ""
        var isEscaped = false
        for scalar in text.unicodeScalars {
            if isEscaped {
                guard scalar == "." || scalar == "\\" else {
                    throw CofferError(.invalidInput, "In a path, a backslash is allowed only before . or \\.")
                }
                key.unicodeScalars.append(scalar)
                isEscaped = false
            } else if scalar == "\\" {
                isEscaped = true
            } else if scalar == "." {
                components.append(key)
                key = ""
            } else {
                key.unicodeScalars.append(scalar)
            }
        }
        components.append(key)
        guard !isEscaped, !components.contains(where: \.isEmpty) else {
            throw CofferError(.invalidInput, "A path cannot contain an empty key or end with a backslash.")
        }
        return components
    }

    /// Returns the value at the path; `nil` when there is none. For an array on the path, returns an array of
    /// the values in its elements, unless `throughArrays` is `false`.
    func project(_ document: JSONValue, throughArrays: Bool = true) -> JSONValue? {
        project(document, components[...], throughArrays)
    }

    private func project(
        _ value: JSONValue, _ rest: ArraySlice<String>, _ throughArrays: Bool
    ) -> JSONValue? {
        guard let key = rest.first else { return value }
        switch value {
        case .object(let fields):
            return fields[key].flatMap { project($0, rest.dropFirst(), throughArrays) }
        case .array(let elements) where throughArrays:
            let found = elements.compactMap { project($0, rest, throughArrays) }.filter { $0 != .null }
            return found.isEmpty ? nil : .array(found)
        default: return nil
        }
    }

    /// Returns the path in the notation of SQLite's JSON functions, which cannot express every key.
    func sqlitePath() throws(CofferError) -> String {
        let marks = [UInt8(ascii: "\""), UInt8(ascii: "\\")]
        guard !components.contains(where: { $0.utf8.contains(where: marks.contains) }) else {
            throw CofferError(
                .invalidInput, "A key of a json1 index cannot contain quotation marks or backslashes.")
        }
        return "$" + components.map { ".\"\($0)\"" }.joined()
    }
}
