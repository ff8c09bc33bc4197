import Foundation
import TestSupport
import Testing

/// The library in other languages than C: the Python module with its keyring backend, and the example in Go.
@Suite("libcoffer in Python and Go")
struct BindingTests {
    private static let sources = PackageRoot.path + "Tests/CInterface/"

    private static func isInstalled(_ program: String, _ arguments: [String]) -> Bool {
        (try? CommandRun.run(program, arguments, seconds: 60))?.code == 0
    }

    /// Whether pytest is installed, and keyring, whose own tests of a backend need it.
    static let hasPython = isInstalled("/usr/bin/python3", ["-c", "import keyring, pytest"])
    static let hasGo = isInstalled("go", ["version"])

    @Test(
        "The Python module and its keyring backend do what they say, and fail clearly",
        .enabled(if: hasPython, "needs python3-keyring and python3-pytest"),
        arguments: ["test_coffer.py", "test_coffer_keyring.py"])
    func python(_ file: String) throws {
        let library = try InstalledLibrary()
        defer { library.remove() }
        let environment = [
            "PYTHONPATH": PackageRoot.path + "Sources/CofferPython", "PYTHONDONTWRITEBYTECODE": "1",
            "COFFER": CommandRun.cofferPath,
        ]
        let run = try CommandRun.run(
            "/usr/bin/python3",
            ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", library.prefix + "t"]
                + [Self.sources + file],
            environment: environment.merging(library.environment) { $1 }, seconds: 300)
        #expect(run.code == 0, "\(run.text)\(run.errorText)")
    }

    @Test("The example in Go stores and reads, and says what fails", .enabled(if: hasGo, "needs golang-go"))
    func goExample() throws {
        let library = try InstalledLibrary()
        defer { library.remove() }
        let program = library.prefix + "example"
        let cache = ["GOCACHE": library.prefix + "cache", "GO111MODULE": "off"]
        let build = try CommandRun.run(
            "go", ["build", "-o", program, Self.sources + "example.go"],
            environment: cache.merging(library.environment) { $1 }, seconds: 300)
        try #require(build.code == 0, "\(build.errorText)")
        let home = library.prefix + "home"
        let made = try CommandRun.coffer(
            "init", "--home", home, "--keyring", "file", "--kdf-memory", "8", "--kdf-passes", "2",
            "--passcode-fd", "3", descriptors: [3: Array("one\n".utf8)])
        try #require(made.code == 0, "\(made.errorText)")
        let run = try CommandRun.run(
            program, [home], input: Array("one\n".utf8), environment: library.environment)
        #expect(run.code == 0 && run.text == "from Go", "\(run.code) \(run.errorText)")
        let read = try CommandRun.coffer(
            "token", "get", "s", "go", "--home", home, "--passcode-fd", "3",
            descriptors: [3: Array("one\n".utf8)])
        #expect(read.text == "from Go", "\(read.errorText)")
        let wrong = try CommandRun.run(
            program, [home], input: Array("two\n".utf8), environment: library.environment)
        #expect(wrong.code == 5 && wrong.text.isEmpty && !wrong.errorText.isEmpty, "\(wrong.errorText)")
        let none = try CommandRun.run(program, [home + "/none"], environment: library.environment)
        #expect(none.code == 12, "\(none.errorText)")
    }
}
