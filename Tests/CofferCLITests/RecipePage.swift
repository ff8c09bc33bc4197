import Foundation
import TestSupport

/// The blocks of the article on recipes: shell commands and configuration files, each with its name in a
/// line `<!-- recipe: name -->` above it.
struct RecipePage {
    /// The blocks by name.
    let blocks: [String: String]
    /// The blocks without a name. Those of Swift have another test.
    let unnamed: [String]

    init() throws {
        let path = PackageRoot.path + "Sources/Coffer/Coffer.docc/Recipes.md"
        var blocks: [String: String] = [:]
        var unnamed: [String] = []
        var block: (name: String?, lines: [String])?
        var name: String?
        for line in try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "\n") {
            if !line.hasPrefix("```") {
                block?.lines.append(line)
                name = line.wholeMatch(of: /<!-- recipe: ([\w-]+) -->/).map { String($0.1) }
            } else if let (name, lines) = block {
                block = nil
                if lines[0] == "```swift" { continue }
                if let name {
                    blocks[name] = lines.dropFirst().joined(separator: "\n")
                } else {
                    unnamed.append(lines.joined(separator: "\n"))
                }
            } else {
                block = (name, [line])
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
