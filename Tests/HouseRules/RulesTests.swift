import Testing

/// The rules themselves: each must find what it is for, and nothing in comments and strings.
@Suite("The rules find what they are for")
struct RulesTests {
    private func source(_ text: String, path: String = "Sources/Coffer/Session/Sample.swift") -> SwiftSource {
        SwiftSource(path: path, text: text)
    }

    @Test(
        "1: imports of C modules outside the engine are found",
        arguments: [
            "import CSodium", "public import COpenSSL", "@_exported import Glibc", "import func Glibc.kill",
        ])
    func findsImports(_ line: String) {
        let cellar: Set = ["CSodium", "COpenSSL"]
        #expect(Rules.imports(source(line), cellar: cellar).count == 1)
        #expect(Rules.imports(source("// " + line), cellar: cellar).isEmpty)
        #expect(Rules.imports(source(line, path: "Sources/CofferEngine/A.swift"), cellar: cellar).isEmpty)
        #expect(Rules.imports(source(line, path: "Benchmarks/Peers/A.swift"), cellar: cellar).isEmpty)
        #expect(Rules.imports(source("import CofferCrypto"), cellar: cellar).isEmpty)
    }

    @Test(
        "2: unsafe words in code are found, and those in strings and comments are not",
        arguments: [
            "unsafe f()", "let p: UnsafePointer<Int>", "x.withUnsafeBytes { _ in }", "let p: OpaquePointer",
            "nonisolated(unsafe) var x = 1", "final class A: @unchecked Sendable {}",
            "Unmanaged.passRetained(a)",
        ])
    func findsDangerousWords(_ line: String) {
        #expect(Rules.dangerousWords(source(line)).count == 1)
        #expect(Rules.dangerousWords(source("let s = \"\(line)\"  // \(line)")).isEmpty)
        #expect(Rules.dangerousWords(source("/* /* */\n \(line) */ let x = 1")).isEmpty)
        #expect(Rules.dangerousWords(source("let s = \"\\(unsafe f())\"")).count == 1)
        #expect(Rules.dangerousWords(source(line, path: "Sources/CofferEngine/A.swift")).isEmpty)
    }

    @Test("2: an unchecked promise without an explanation is found")
    func findsUnexplainedPromises() {
        let promise = "final class A: @unchecked Sendable {}"
        #expect(Rules.unexplainedPromises(source(promise)).count == 1)
        #expect(Rules.unexplainedPromises(source("/// `@unchecked Sendable` holds.\n" + promise)).isEmpty)
    }

    @Test(
        "3: force unwraps, try! and fatal errors are found, except in allowed files",
        arguments: [
            "try! f()", "let x = a as! B", "let x = a!", "f(a)!.b", "a[0]!", "var a: Int!",
            "Swift.fatalError()",
            "preconditionFailure(\"x\")", "a?.b!",
        ])
    func findsCrashes(_ line: String) {
        #expect(Rules.crashes(source(line), allowed: []).count == 1)
        #expect(Rules.crashes(source(line), allowed: ["Sources/Coffer/Session/Sample.swift"]).isEmpty)
    }

    @Test(
        "3: negations, comparisons, comments and strings are no crashes",
        arguments: ["if !a { }", "a != b", "a!=b", "guard !f(a)", "// a!", "\"a!\"", "#\"\"a!\"\"#"])
    func sparesWhatDoesNotCrash(_ line: String) { #expect(Rules.crashes(source(line), allowed: []).isEmpty) }

    @Test(
        "4: calls that print are found outside the one place for them",
        arguments: ["print(1)", "  print (1)", "debugPrint(1)", "fputs(\"a\", stderr)"])
    func findsPrints(_ line: String) {
        #expect(Rules.prints(source(line)).count == 1)
        #expect(Rules.prints(source(line, path: "Sources/CofferCommandLine/Output.swift")).isEmpty)
    }

    @Test(
        "4: other names that contain \"print\" are left alone",
        arguments: ["output.print(1)", "fingerprint(1)", "let print = 1"])
    func sparesWhatDoesNotPrint(_ line: String) { #expect(Rules.prints(source(line)).isEmpty) }

    @Test("5: 110 columns and 400 lines are accepted, and one more is found")
    func countsCharactersAndLines() {
        #expect(Rules.sizes(source(String(repeating: "ü", count: 110) + "\n")).isEmpty)
        #expect(Rules.sizes(source(String(repeating: "a", count: 111))).count == 1)
        #expect(Rules.sizes(source(String(repeating: "a\n", count: 400))).isEmpty)
        #expect(Rules.sizes(source(String(repeating: "a\n", count: 401))).count == 1)
    }

    @Test("5: a public type beside the one that names the file is found")
    func countsTopLevelPublicTypes() {
        let nested =
            "public struct Sample {\n    public enum Kind {}\n}\nextension Sample { public struct B {} }"
        #expect(Rules.publicTypes(source(nested)).isEmpty)
        #expect(Rules.publicTypes(source(nested + "\npublic actor Other {}")).count == 1)
        #expect(Rules.publicTypes(source("@frozen public final class Other {}")).count == 1)
        #expect(Rules.publicTypes(source("struct A {}\npackage enum B {}")).isEmpty)
    }

    @Test(
        "9: comparisons by characters are found",
        arguments: [
            #"a.hasPrefix("file:")"#, #"a?.hasSuffix(b)"#, #"name.string.hasPrefix(Self.prefix)"#,
            #"a.split(separator: "?", maxSplits: 1)"#, #"!a.contains("/")"#, #"a.firstIndex(of: ":")"#,
            #"a.components(separatedBy: b)"#, "case symbol(Character)", "let c = Character(scalar)",
            #"a.drop { $0 == "/" }"#, "a.prefix(while: \\.isHexDigit)", #"a == "K""#, #"b != "ü""#,
            #"a == ";""#, "a.lowercased()", "a.split(whereSeparator: f)", "byte.hexDigitValue",
            #"b.utf8.hasPrefix(c) && a.hasPrefix(c)"#, #"a.replacing("'", with: "''")"#,
        ])
    func findsTextComparisons(_ line: String) {
        #expect(Rules.textComparisons(source(line)).count == 1)
        #expect(Rules.textComparisons(source("// " + line)).isEmpty)
        #expect(Rules.textComparisons(source(line, path: "Tests/A/A.swift")).isEmpty)
        #expect(Rules.textComparisons(source("// Not bytes: a word.\n" + line)).isEmpty)
        #expect(Rules.textComparisons(source(line + "\n// Not bytes: a word.")).count == 1)
    }

    @Test(
        "9: comparisons by bytes are left alone",
        arguments: [
            #"a.utf8.hasPrefix("file:")"#, #"a?.utf8.hasSuffix(b)"#, #"a == "plain""#, #"$0 == "{}""#,
            #"a.utf8.contains(UInt8(ascii: "/"))"#, "a.unicodeScalars.split(whereSeparator: f)",
            "scalar.properties.isWhitespace", "let characters = 1", "a.isLetterbox", #"scalar == "?""#,
            #"a.starts(with: b.utf8)"#, "a.splitting(x)",
        ])
    func sparesBytes(_ line: String) { #expect(Rules.textComparisons(source(line)).isEmpty) }

    @Test("9: of ASCII, only the semicolon, the backtick and K equal another character")
    func canonicalEquivalents() {
        let doubles = (UInt32(0x80)...0x10FFFF).compactMap(Unicode.Scalar.init).flatMap { scalar in
            // Past the planes with decompositions nothing is equivalent to anything.
            scalar.value > 0x2FFFF
                ? [] : (0..<128).filter { String(Unicode.Scalar(UInt8($0))) == String(scalar) }
        }
        #expect(Set(doubles.map { Unicode.Scalar(UInt8($0)) }) == [";", "`", "K"])
    }

    @Test(
        "11: commands in texts of a library are found, and other words are left alone",
        arguments: [
            (#"f("Run coffer wipe.")"#, 1), (#"f("Run coffer " + "wipe")"#, 1),
            ("f(\"\"\"\n    Run coffer \\\n    wipe.\n    \"\"\")", 1), (#"f("coffer: wiped")"#, 0),
            (#"f("coffer/wipe/v1")"#, 0), (#"f("coffer lids")"#, 0), ("// coffer wipe", 0),
        ])
    func findsCommands(_ text: String, _ count: Int) {
        #expect(Rules.commands(source(text), names: ["wipe"]).count == count)
        #expect(Rules.commands(source(text, path: "Sources/CofferCLI/A.swift"), names: ["wipe"]).isEmpty)
        #expect(Rules.commandNames(source(#"commandName: "wipe", abstract: "It.""#)) == ["wipe"])
    }

    @Test("The scanner tells literals, interpolations and comments from code")
    func readsLiterals() {
        let text =
            #"let a = "one\"two"; let b = "x\(f("inner"))y" // "no""# + "\nlet c = \"\"\"\nthree\n\"\"\"\n"
        let literals = source(text).literals.map(\.text)
        #expect(literals == [#"one\"two"#, "inner", #"x\(f("inner"))y"#, "\nthree\n"])
        #expect(source(text).comments.map(\.text) == [#"// "no""#])
        #expect(source(text).code.count == 5)
    }

    @Test(
        "12: a Mutex that holds a closure is found, and one that holds a structure or is an argument is not",
        arguments: [
            ("let a = Mutex<(@Sendable () -> Void)?>(nil)", 1), ("let a: Mutex<[() -> Int]>", 1),
            ("let a = Mutex<Handler?>(nil)", 0), ("func a(_ b: borrowing Mutex<Set<Int>>) -> Int", 0),
        ])
    func findsClosures(_ line: String, _ count: Int) {
        #expect(Rules.closuresInMutexes(source(line)).count == count)
    }
}
