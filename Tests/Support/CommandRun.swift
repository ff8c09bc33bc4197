import CofferEngine
import Foundation

/// Another program that ran to its end, and what it left.
package struct CommandRun: Sendable {
    /// The exit code; 128 and more when a signal ended it.
    package let code: Int32
    /// The bytes on standard output.
    package let output: [UInt8]
    /// The bytes on standard error.
    package let errors: [UInt8]

    /// Standard output as text.
    package var text: String { String(decoding: output, as: UTF8.self) }

    /// Standard error as text.
    package var errorText: String { String(decoding: errors, as: UTF8.self) }

    /// Standard output as a JSON object; empty when it is not one document.
    package var json: [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(output))) as? [String: Any] ?? [:]
    }

    /// Runs `program`, looked up in PATH, kills it at the deadline, and gives what it left.
    ///
    /// - Parameters:
    ///   - program: A name or a path.
    ///   - arguments: Its arguments.
    ///   - input: What it reads from standard input.
    ///   - descriptors: What it reads from further descriptors, 3 to 9.
    ///   - environment: What is set beside the environment of the tests.
    ///   - seconds: The deadline.
    /// - Returns: What it left; the code is 137 when it did not keep the deadline.
    /// - Throws: `invalidInput` for an argument with a NUL; the underlying error if it cannot be started.
    package static func run(
        _ program: String, _ arguments: [String], input: [UInt8] = [], descriptors: [Int: [UInt8]] = [:],
        environment: [String: String] = [:], seconds: Double = 180
    ) throws -> CommandRun {
        let folder = FileManager.default.temporaryDirectory.appending(path: "coffer-run-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        var redirections = "<\"$0/0\" >\"$0/1\" 2>\"$0/2\""
        try Data(input).write(to: folder.appending(path: "0"))
        // A program that its deadline ends before it starts leaves nothing, and no error.
        for output in ["1", "2"] { try Data().write(to: folder.appending(path: output)) }
        for number in 3...9 {
            // These tests may have been given some that would go on to the program.
            guard let bytes = descriptors[number] else {
                redirections += " \(number)<&-"
                continue
            }
            try Data(bytes).write(to: folder.appending(path: "\(number)"))
            redirections += " \(number)<\"$0/\(number)\""
        }
        let process = try BoundChildProcess.start(
            (["/usr/bin/env"] + environment.map { "\($0)=\($1)" }
                + [
                    "/bin/sh", "-c", "exec \"$@\" \(redirections)", folder.path(percentEncoded: false),
                    program,
                ]
                + arguments).map { Array($0.utf8) })
        let code = process.ended(within: seconds)
        return CommandRun(
            code: code, output: [UInt8](try Data(contentsOf: folder.appending(path: "1"))),
            errors: [UInt8](try Data(contentsOf: folder.appending(path: "2"))))
    }

    /// Runs the command of this package, which is built beside the tests.
    ///
    /// - Parameters:
    ///   - arguments: Its arguments.
    ///   - input: What it reads from standard input.
    ///   - descriptors: What it reads from further descriptors, 3 to 9.
    ///   - environment: What is set beside the environment of the tests.
    ///   - seconds: The deadline.
    /// - Returns: What it left.
    /// - Throws: As ``run(_:_:input:descriptors:environment:seconds:)``.
    package static func coffer(
        _ arguments: String..., input: [UInt8] = [], descriptors: [Int: [UInt8]] = [:],
        environment: [String: String] = [:], seconds: Double = 180
    ) throws -> CommandRun {
        try run(
            cofferPath, arguments, input: input, descriptors: descriptors, environment: environment,
            seconds: seconds)
    }

    /// Where that command is.
    package static let cofferPath = programs + "coffer"

    /// Whether COFFER_PROGRAMS chooses the programs, as `Scripts/residue` does: the release build's.
    package static let areProgramsChosen = ProcessInfo.processInfo.environment["COFFER_PROGRAMS"] != nil

    /// The folder of the package's programs, with a slash at its end: the build puts them beside the test
    /// runner. COFFER_PROGRAMS names another, so that the same tests look at the release build.
    package static let programs: String = {
        let beside = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        return ProcessInfo.processInfo.environment["COFFER_PROGRAMS"].map { $0 + "/" }
            ?? beside.path(percentEncoded: false)
    }()
}
