import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine

/// The simple case of `coffer oauth token`: a bearer token that is not due, in a vault that needs no passcode
/// now. Everything else is left to the other program, also the report of every error.
enum OAuthLiveToken {
    /// The options as the other program reads them.
    private struct Options: ParsableArguments {
        @OptionGroup var global: GlobalOptions
        @OptionGroup var token: OAuthTokenOptions
    }

    /// Writes the token if the arguments ask for the simple case.
    ///
    /// - Parameter arguments: The arguments after the command's name.
    /// - Returns: Whether the token was written.
    /// - Throws: The error that occurs while writing it.
    static func isWritten(_ arguments: [String]) async throws(CofferError) -> Bool {
        guard let options = options(arguments), !options.global.json,
            options.global.passcodeFd == nil, options.token.url == nil,
            options.token.format == .raw || options.token.format == .header,
            let access = await access(options), !access.isDPoP
        else { return false }
        let isHeader = options.token.format == .header
        if isHeader { try write("Authorization: Bearer ") }
        try access.token.exposing { (bytes) throws(CofferError) in try Output.bytes(bytes) }
        if isHeader { try write("\n") }
        return true
    }

    /// Returns whether the words are `oauth token` and so simple that they need no parser.
    static func isSimple(_ words: [String]) -> Bool {
        let path = [OAuthProgram.subcommand, "token"]
        guard words.count >= path.count, zip(path, words).allSatisfy({ $0.hasSameBytes(as: $1) }) else {
            return false
        }
        return simpleOptions(Array(words.dropFirst(path.count))) != nil
    }

    /// Returns the options; `nil` if the parser refuses them.
    private static func options(_ arguments: [String]) -> Options? {
        if let simple = simpleOptions(arguments) { return simple }
        return try? Options.parse(arguments)
    }

    /// Returns the options without the parser, which takes longer than everything else; `nil` if it has to
    /// read the arguments.
    private static func simpleOptions(_ arguments: [String]) -> Options? {
        guard let words = SimpleWords(arguments, valued: ["--account", "--format"]),
            words.arguments.count == 1, let global = GlobalOptions(words)
        else { return nil }
        var token = OAuthTokenOptions()
        token.profile = words.arguments[0]
        token.account = words["--account"]
        token.url = nil
        token.format = .raw
        token.onTerminal = false
        if let name = words["--format"] {
            guard let format = OAuthTokenFormat(argument: name) else { return nil }
            token.format = format
        }
        var options = Options()
        options.global = global
        options.token = token
        return options
    }

    private static func write(_ text: String) throws(CofferError) {
        try Output.bytes(Array(text.utf8).span)
    }

    private static func access(_ options: Options) async -> GrantAccess? {
        guard let tokens = try? await VaultOpener.unlockedSilently(options.global).tokens else { return nil }
        return try? await tokens.liveAccess(profile: options.token.profile, account: options.token.account)
    }
}
