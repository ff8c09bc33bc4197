/// The references between the files of a target, by the names of types: rule 10.
///
/// A file refers to another if its code contains the name of a type that the other declares at its top level.
/// Members that a file calls without naming their type do not show.
struct FolderGraph {
    /// A reference from one file to another.
    private struct Reference: Hashable {
        let from: String
        let to: String
    }

    private let target: String
    /// The files that each file refers to, with the types that it names.
    private let references: [String: [String: Set<Substring>]]

    /// The graph of the files in `target`, such as `Sources/Coffer`.
    init(of target: String, _ sources: [SwiftSource]) {
        self.target = target
        let files = sources.filter { $0.module == target }
        var declarations: [Substring: String] = [:]
        for file in files {
            for line in file.code { if let name = Self.declaredType(line) { declarations[name] = file.path } }
        }
        references = files.reduce(into: [:]) { graph, file in
            for name in Set(file.code.flatMap(Rules.words)) {
                guard let other = declarations[name], other != file.path else { continue }
                graph[file.path, default: [:]][other, default: []].insert(name)
            }
        }
    }

    /// The type that a line declares at the top level of its file, unless it is private to it.
    private static func declaredType(_ line: String) -> Substring? {
        guard let first = line.utf8.first, first != UInt8(ascii: " ") else { return nil }
        let words = Rules.words(line)
        let kinds: Set<Substring> = ["struct", "class", "enum", "actor", "protocol", "typealias"]
        guard let kind = words.firstIndex(where: { kinds.contains($0) }), kind + 1 < words.count else {
            return nil
        }
        let modifiers: Set<Substring> = ["public", "package", "final", "indirect"]
        guard words[..<kind].allSatisfy({ modifiers.contains($0) }) else { return nil }
        return words[kind + 1]
    }

    /// The first folder below the target's; empty for a file in the target's own.
    private func folder(_ path: String) -> String {
        let parts = path.split(separator: "/").dropFirst(2)
        return parts.count > 1 ? String(parts[parts.startIndex]) : ""
    }

    /// The folders that each folder refers to, without those of the target's own files.
    var arrows: [String: Set<String>] {
        var arrows: [String: Set<String>] = [:]
        for (from, others) in references {
            for to in others.keys where folder(from) != folder(to) && !folder(from).isEmpty {
                arrows[folder(from), default: []].insert(folder(to))
            }
        }
        return arrows
    }

    /// The references between folders that `allowed` does not contain.
    func findings(outside allowed: [String: Set<String>]) -> [Finding] {
        references.flatMap { (from, others) in
            others.compactMap { (to, names) in
                let (source, other) = (folder(from), folder(to))
                guard source != other, !source.isEmpty, allowed[source]?.contains(other) != true else {
                    return nil
                }
                let list = names.sorted().joined(separator: ", ")
                return Finding(path: from, line: 1, what: "refers from \(source) to \(other): \(list)")
            }
        }
    }

    /// The largest set of files of which each refers, directly or by others, to every other one.
    var largestCycle: [String] {
        let reachable = references.keys.reduce(into: [String: Set<String>]()) { $0[$1] = reached(from: $1) }
        let cycles = reachable.map { (file, others) in
            others.filter { reachable[$0]?.contains(file) == true }.sorted()
        }
        return cycles.max { $0.count < $1.count } ?? []
    }

    private func reached(from start: String) -> Set<String> {
        var found: Set<String> = []
        var left = [start]
        while let file = left.popLast() {
            for other in references[file, default: [:]].keys where found.insert(other).inserted {
                left.append(other)
            }
        }
        return found
    }
}
