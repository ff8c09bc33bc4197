import ArgumentParser
import CofferBase
import CofferCommandLine

/// A command that other programs run again and again, so that the time counts that the parser takes. See
/// ``SimpleWords``.
protocol SimpleCommand: AsyncParsableCommand {
    /// The command's names, from the program's first word on.
    static var path: [String] { get }
    /// The command's own options.
    static var ownFlags: [String] { get }
    static var ownValued: [String] { get }
    /// Creates the command; returns `nil` if the parser has to read the words. Sets every property, because
    /// reading one that is not set ends the process.
    init?(_ words: SimpleWords, _ global: GlobalOptions)
}

extension SimpleCommand {
    static var ownFlags: [String] { [] }
    static var ownValued: [String] { [] }

    /// Reads the words; returns `nil` if they are not this command's or if the parser has to read them.
    fileprivate static func read(_ words: [String]) -> sending (any AsyncParsableCommand)? {
        guard words.count >= path.count, zip(path, words).allSatisfy({ $0.hasSameBytes(as: $1) }),
            let simple = SimpleWords(words.dropFirst(path.count), flags: ownFlags, valued: ownValued),
            let global = GlobalOptions(simple)
        else { return nil }
        return Self(simple, global)
    }
}

/// The commands that can do without the parser.
enum SimpleCommands {
    private static let all: [any SimpleCommand.Type] = [
        TokenGet.self, GitCredential.self, DockerCredential.self, AWSCredentialProcess.self,
    ]

    /// Returns the command that the program's arguments mean; `nil` if the parser has to read them.
    static func read(_ words: [String]) -> sending (any AsyncParsableCommand)? {
        for command in all {
            if let found = command.read(words) { return found }
        }
        return nil
    }
}

extension TokenGet: SimpleCommand {
    static let path = ["token", "get"]
    static let ownFlags = ["--allow-expired", "--force"]

    init?(_ words: SimpleWords, _ global: GlobalOptions) {
        guard words.arguments.count == 2 else { return nil }
        self.init()
        self.global = global
        name = TokenName(service: words.arguments[0], account: words.arguments[1])
        allowExpired = words.has("--allow-expired")
        force = words.has("--force")
    }
}

extension GitCredential: SimpleCommand {
    static let path = [name]

    init?(_ words: SimpleWords, _ global: GlobalOptions) {
        guard words.arguments.count == 1 else { return nil }
        self.init()
        self.global = global
        action = words.arguments[0]
    }
}

extension DockerCredential: SimpleCommand {
    static let path = [name]

    init?(_ words: SimpleWords, _ global: GlobalOptions) {
        guard words.arguments.count == 1 else { return nil }
        self.init()
        self.global = global
        action = words.arguments[0]
    }
}

extension AWSCredentialProcess: SimpleCommand {
    static let path = [name]
    static let ownValued = ["--access-key-id"]

    init?(_ words: SimpleWords, _ global: GlobalOptions) {
        guard words.arguments.count <= 1 else { return nil }
        self.init()
        self.global = global
        profile = words.arguments.first ?? Self.defaultProfile
        accessKeyId = words["--access-key-id"]
    }
}
