import Foundation
import TestSupport

/// The checkout that these tests were compiled from.
enum Repository {
    /// Its root: three levels above this file.
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Every Swift file of the package, in order of path; read once.
    static func swiftSources() throws -> [SwiftSource] { try allSources.get() }

    private static let allSources = Result {
        try files(under: ["Sources", "Tests", "Benchmarks"]) { $0.hasSuffix(".swift") }.map {
            SwiftSource(path: $0, text: try text(of: $0))
        }
    }

    /// The paths, from the root, of the files under `folders` that `isWanted` accepts; hidden ones are left
    /// out.
    static func files(under folders: [String], where isWanted: (String) -> Bool) throws -> [String] {
        var found: [String] = []
        for folder in folders {
            let keys: [URLResourceKey] = [.isRegularFileKey]
            let walker = FileManager.default.enumerator(
                at: root.appending(path: folder), includingPropertiesForKeys: keys,
                options: [.skipsHiddenFiles])
            while let url = walker?.nextObject() as? URL {
                let path = String(
                    url.path(percentEncoded: false).dropFirst(root.path(percentEncoded: false).count))
                guard isWanted(path), try url.resourceValues(forKeys: Set(keys)).isRegularFile == true else {
                    continue
                }
                found.append(path)
            }
        }
        return found.sorted()
    }

    /// The text of the file at `path`.
    static func text(of path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// Whether there is something at `path`.
    static func has(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.appending(path: path).path(percentEncoded: false))
    }

    /// The C modules of the cellar, by their module maps.
    static func cellarModules() throws -> Set<String> {
        let maps = try files(under: ["Sources"]) { $0.hasSuffix("/module.modulemap") }
        return Set(maps.compactMap { $0.split(separator: "/").dropLast().last.map(String.init) })
    }

    /// Runs a program at the root; gives its exit code and what it printed on both streams.
    static func run(_ arguments: [String]) throws -> (code: Int32, output: String) {
        try Helper.run(["-C", root.path(percentEncoded: false)] + arguments)
    }
}
