import Foundation
import Testing
import TestSupport

/// A home that the command made in a directory of its own; both go with their owner.
final class CommandHome {
    /// The directory, with the home in it.
    let folder: URL
    /// The home.
    let path: String
    /// The passcode that every run gives; `nil` for none.
    let passcode: String?
    /// The variables that every run has set.
    private let environment: [String: String]

    /// Makes a home with the cheapest key derivation.
    init(
        passcode: String? = "2468", environment: [String: String] = [:], _ options: String...
    ) throws {
        self.passcode = passcode
        self.environment = environment
        folder = FileManager.default.temporaryDirectory.appending(path: "coffer-test-\(UUID().uuidString)")
        path = folder.appending(path: "home").path(percentEncoded: false)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        let run = try initialise(options)
        try #require(run.code == 0, "\(run.errorText)")
    }

    deinit {
        _ = try? CommandRun.coffer("wipe", "--yes", "--home", path)
        try? FileManager.default.removeItem(at: folder)
    }

    /// `init` on this home.
    func initialise(_ options: [String] = []) throws -> CommandRun {
        try run(
            ["init", "--keyring", "file"] + Self.cheap + options + (passcode == nil ? ["--no-passcode"] : []))
    }

    static let cheap = ["--kdf-memory", "8", "--kdf-passes", "2"]

    /// Runs a command on this home with its passcode.
    func callAsFunction(_ arguments: String..., input: [UInt8] = []) throws -> CommandRun {
        try run(arguments, input: input)
    }

    /// Runs a command with another passcode; an empty one means none.
    func run(
        _ arguments: [String], passcode: String? = nil, new: String? = nil, input: [UInt8] = [],
        environment: [String: String] = [:], before: [String] = []
    ) throws -> CommandRun {
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        var options = ["--home", path]
        var descriptors: [Int: [UInt8]] = [:]
        if let passcode = passcode ?? self.passcode, !passcode.isEmpty {
            options += ["--passcode-fd", "3"]
            descriptors[3] = Array((passcode + "\n").utf8)
        }
        if let new {
            options += ["--new-passcode-fd", "4"]
            descriptors[4] = Array((new + "\n").utf8)
        }
        let all = before + [CommandRun.cofferPath] + arguments[..<end] + options + arguments[end...]
        return try CommandRun.run(
            all[0], Array(all.dropFirst()), input: input, descriptors: descriptors,
            environment: self.environment.merging(environment) { $1 })
    }

    /// The JSON output of `status`.
    func status() throws -> [String: Any] {
        let run = try run(["status", "--json"], passcode: "")
        try #require(run.code == 0, "\(run.errorText)")
        return run.json
    }

    /// Copies the command into a folder without its companions; gives its path.
    func lonelyCommand() throws -> String {
        let folder = folder.appending(path: "lonely")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        let path = folder.appending(path: "coffer").path(percentEncoded: false)
        // A copy made by this process could be open for writing in a child that another test has just
        // started, and could not be run until that child ends.
        try #require(try CommandRun.run("cp", [CommandRun.cofferPath, path]).code == 0)
        return path
    }

    /// Writes a file beside the home; gives its path.
    func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        let url = folder.appending(path: name)
        try Data(bytes).write(to: url)
        return url.path(percentEncoded: false)
    }

    /// Adds a file; gives its id.
    func add(_ path: String) throws -> String {
        let run = try self("file", "add", path, "--json")
        return try #require(run.json["id"] as? String, "\(run.errorText)")
    }
}

extension CommandRun {
    /// The code in the error document.
    var errorCode: String? { (json["error"] as? [String: Any])?["code"] as? String }
}
