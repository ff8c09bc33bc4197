import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine

/// The simple case of `coffer oauth token`: a token that is not due, in a vault that needs no passcode now.
/// Everything else is left to the other program, also the report of every error.
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
        guard let options = try? Options.parse(arguments), !options.global.json,
            options.global.passcodeFd == nil, options.token.url == nil,
            options.token.format == .raw || options.token.format == .header,
            let access = await access(options)
        else { return false }
        let isHeader = options.token.format == .header
        if isHeader { try write(access.isDPoP ? "Authorization: DPoP " : "Authorization: Bearer ") }
        try access.token.exposing { (bytes) throws(CofferError) in try Output.bytes(bytes) }
        if isHeader { try write("\n") }
        return true
    }

    private static func write(_ text: String) throws(CofferError) {
        try Output.bytes(Array(text.utf8).span)
    }

    private static func access(_ options: Options) async -> GrantAccess? {
        let profile = options.token.profile
        guard let tokens = try? await VaultOpener.unlockedSilently(options.global).tokens else { return nil }
        if let given = options.token.account {
            return try? await tokens.liveAccess(profile: profile, account: given)
        }
        if let found = try? await tokens.liveAccess(profile: profile, account: "") { return found }
        guard let accounts = try? await tokens.sessionAccounts(of: profile),
            let account = try? OAuthTokenOptions.account(nil, of: profile, among: accounts)
        else { return nil }
        return try? await tokens.liveAccess(profile: profile, account: account)
    }
}
