import Foundation
import TestSupport

/// The blocks of the article on recipes: shell commands and configuration files, each with its name in a
/// comment on its first line.
struct RecipePage {
    /// The blocks by name, without the comment.
    let blocks: [String: String]
    /// The first lines of blocks without a name. Those of Swift have another test.
    let unnamed: [String]

    init() throws {
        let path = PackageRoot.path + "Sources/Coffer/Coffer.docc/Recipes.md"
        var blocks: [String: String] = [:]
        var unnamed: [String] = []
        var block: [String]?
        for line in try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "\n") {
            guard line.hasPrefix("```") else {
                block?.append(line)
                continue
            }
            guard let lines = block else {
                block = [line]
                continue
            }
            block = nil
            guard lines.count > 1, lines[0] != "```swift" else { continue }
            if lines[1].hasPrefix("# recipe: ") {
                blocks[String(lines[1].dropFirst("# recipe: ".count))] = lines.dropFirst(2)
                    .joined(separator: "\n")
            } else {
                unnamed.append(lines[1])
            }
        }
        self.blocks = blocks
        self.unnamed = unnamed
    }

    /// The value of a setting of a unit or of an instruction of a Dockerfile, continued lines joined.
    static func value(_ name: String, in text: String) -> String? {
        let lines = text.replacingOccurrences(of: "\\\n", with: "").components(separatedBy: "\n")
        return lines.first { $0.hasPrefix(name) }.map { String($0.dropFirst(name.count)) }
    }
}
