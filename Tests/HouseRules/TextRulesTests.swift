import Foundation
import Testing

/// Rules 6 to 8, and what else holds for files that are not Swift.
@Suite("Rules 6 to 8: format, vectors, labels, documents")
struct TextRulesTests {
    @Test("6: swift format finds nothing")
    func format() throws {
        let folders = ["Sources", "Tests", "Benchmarks", "Package.swift"]
        let result = try Repository.run(
            ["swift", "format", "lint", "--strict", "--recursive", "--parallel"] + folders)
        #expect(result.code == 0, "\(result.output)")
    }

    @Test(
        "6: the rules that matter are on",
        arguments: [
            "AllPublicDeclarationsHaveDocumentation", "NeverForceUnwrap", "NeverUseForceTry",
            "ValidateDocumentationComments",
        ])
    func formatRule(_ name: String) throws {
        let data = try Data(contentsOf: Repository.root.appending(path: ".swift-format"))
        let settings = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let rules = try #require(settings["rules"] as? [String: Bool])
        #expect(rules[name] == true)
        #expect(settings["lineLength"] as? Int == 110)
    }

    @Test("7: the README of the vectors names every file, and a test reads them")
    func vectors() throws {
        let files = try Repository.files(under: ["Vectors"]) { $0.hasSuffix(".json") }
        guard !files.isEmpty else { return }
        let readme = try Repository.text(of: "Vectors/README.md")
        for file in files {
            let name = file.dropFirst("Vectors/".count)
            #expect(readme.contains(name), "Vectors/README.md does not name \(name).")
        }
        let readers = try Repository.swiftSources().filter {
            $0.path.hasPrefix("Tests/") && !$0.path.hasPrefix("Tests/HouseRules/")
                && $0.literals.contains { $0.text.contains("Vectors") }
        }
        #expect(!readers.isEmpty, "No test reads Vectors/.")
    }

    @Test("8: every label and every magic stands once")
    func labels() throws {
        let sources = try Repository.swiftSources().filter { $0.path.hasPrefix("Sources/") }
        var places: [String: [String]] = [:]
        for source in sources {
            for literal in source.literals {
                for match in literal.text.matches(of: /^(coffer\/[\w\/-]+\/v[0-9]+|COFFER[A-Z][0-9])$/) {
                    places[String(match.0), default: []].append("\(source.path):\(literal.line)")
                }
            }
        }
        #expect(!places.isEmpty, "No label was found: the rule looks at the wrong place.")
        for (label, places) in places.sorted(by: { $0.key < $1.key }) {
            #expect(
                places.count == 1, "\(label) stands \(places.count) times: \(places.joined(separator: ", "))")
        }
    }

    @Test("No document, script or source names a path of a developer's machine")
    func machinePaths() throws {
        let paths = try Repository.files(under: ["Sources", "Tests", "Benchmarks", "Scripts", "Vectors"]) {
            path in
            let isText = [".md", ".swift", ".sh", ".py", ".h"].contains { path.hasSuffix($0) }
            return isText || path.hasPrefix("Scripts/")
        }
        // Written in halves: this file is looked at, too.
        let foreign = ["/wo" + "rk/", "/tmp/" + "wt", "/ro" + "ot/", "/Us" + "ers/"]
        let others = [
            "Package.swift", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", ".ci/run",
        ]
        for path in paths + others where Repository.has(path) {
            let text = try Repository.text(of: path)
            for place in foreign { #expect(!text.contains(place), "\(path) names \(place)") }
        }
    }

    @Test("Every package description in the documents names the clone, whatever its directory is called")
    func cloneNames() throws {
        let documents = try Repository.files(under: ["Sources"]) { $0.hasSuffix(".md") } + ["README.md"]
        var count = 0
        for path in documents {
            for line in try Repository.text(of: path).split(separator: "\n") {
                guard line.contains(".package(") && line.contains("path:") else { continue }
                count += 1
                #expect(line.contains(".package(name: \"coffer\", path:"), "\(path): \(line)")
            }
        }
        #expect(count >= 3, "The descriptions were not found.")
    }

    @Test("Every script can be run and explains its usage")
    func scripts() throws {
        let scripts = try Repository.files(under: ["Scripts"]) { !$0.hasPrefix("Scripts/lib/") } + [".ci/run"]
        #expect(scripts.count >= 4)
        for path in scripts {
            let file = Repository.root.appending(path: path).path(percentEncoded: false)
            #expect(FileManager.default.isExecutableFile(atPath: file), "\(path) is not executable.")
            #expect(try Repository.text(of: path).hasPrefix("#!"), "\(path) does not name its interpreter.")
        }
    }

    @Test("Package.resolved is not tracked", .enabled(if: Repository.has(".git"), "needs a git checkout"))
    func resolved() throws {
        let result = try Repository.run(["git", "ls-files", "--", "Package.resolved", "**/Package.resolved"])
        #expect(result.code == 0 && result.output.isEmpty, "\(result.output)")
    }
}
