import Foundation

/// The code that a document shows, below a line `<!-- snippet: name -->`, and the code that a test compiles,
/// below a line `// snippet: name`.
public enum Snippets {
    /// The code between the markers of source files, by name.
    public static func compiled(in paths: [String]) throws -> [String: [String]] {
        var snippets: [String: [String]] = [:]
        var name: String?
        for line in try paths.flatMap({ try lines(of: $0) }) {
            let text = line.trimmingCharacters(in: .whitespaces)
            if text == "// snippet end" {
                name = nil
            } else if let next = marker(text) {
                name = next
                snippets[next] = []
            } else if let name {
                snippets[name, default: []].append(line)
            }
        }
        return snippets.mapValues(unindented)
    }

    /// The blocks of Swift of a document that have a marker on the line above them, by name.
    public static func shown(in path: String) throws -> [(name: String, code: [String])] {
        var blocks: [(name: String, code: [String])] = []
        var block: (name: String?, code: [String])?
        var name: String?
        for line in try lines(of: path).map(unquoted) {
            if line == "```swift" {
                block = (name, [])
            } else if line == "```", let (name, code) = block {
                block = nil
                if let name { blocks.append((name, unindented(code))) }
            } else {
                block?.code.append(line)
            }
            name = hiddenMarker(line)
        }
        return blocks
    }

    /// How many blocks of Swift a document has.
    public static func blockCount(in path: String) throws -> Int {
        try lines(of: path).filter { unquoted($0) == "```swift" }.count
    }

    private static func lines(of path: String) throws -> [String] {
        try String(contentsOfFile: PackageRoot.path + path, encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// A fence without the indentation that it has in a list.
    private static func unquoted(_ line: String) -> String {
        let text = line.trimmingCharacters(in: .whitespaces)
        return text.hasPrefix("```") ? text : line
    }

    private static func marker(_ line: String) -> String? {
        guard let match = line.wholeMatch(of: /\s*\/\/ snippet: (\w+)/) else { return nil }
        return String(match.1)
    }

    /// A marker of a document, which its readers do not see.
    private static func hiddenMarker(_ line: String) -> String? {
        guard let match = line.wholeMatch(of: /\s*<!-- snippet: (\w+) -->/) else { return nil }
        return String(match.1)
    }

    /// The lines without the indentation that all of them have.
    private static func unindented(_ lines: [String]) -> [String] {
        let depths = lines.filter { !$0.isEmpty }.map { line in line.prefix { $0 == " " }.count }
        let depth = depths.min() ?? 0
        return lines.map { String($0.dropFirst(depth)) }
    }
}
