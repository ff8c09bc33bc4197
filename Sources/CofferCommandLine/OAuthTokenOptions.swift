package import ArgumentParser
package import CofferBase

/// The forms in which `coffer oauth token` prints a token, as the words on the command line.
package enum OAuthTokenFormat: String, CaseIterable, ExpressibleByArgument, Sendable {
    case raw, header, json, xoauth2, oauthbearer, kubernetes

    /// Whether the form is of use for a token that is bound to a key (RFC 9449): the others are what a server
    /// is sent, and it would refuse them, because they contain no proof of the key.
    package var isForBoundTokens: Bool { self == .raw || self == .json }

    /// The sentence that says how to get tokens without a key from a profile's server.
    package static func adviceForBoundTokens(_ profile: String) -> String {
        "For tokens without a key, run coffer oauth profile update \(profile.printable) --key-proof never, "
            + "then sign in again."
    }
}

/// The options of `coffer oauth token`, which `coffer` reads, too, because it answers the simple case itself.
package struct OAuthTokenOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("The profile.", valueName: "name"))
    package var profile: String

    @Option(help: "The account; default: the one without a name, or that of the profile's only session.")
    package var account: String?

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp(
            "The URL that the token is for. It is refused unless the profile lists the host.",
            valueName: "url"))
    package var url: String?

    @Option(help: "The form of the output, explained above.")
    package var format: OAuthTokenFormat = .raw

    @Flag(help: .hidden)
    package var onTerminal = false

    /// Creates the options of a command without any.
    package init() {}

    /// Returns the specified account or, without one, the account of the profile's only session. Throws
    /// `invalidInput` if the profile has several sessions and none of them is that of the empty account.
    package static func account(
        _ given: String?, of profile: String, among accounts: [String]
    ) throws(CofferError) -> String {
        if let given { return given }
        guard accounts.count > 1, !accounts.contains(where: \.isEmpty) else {
            return accounts.count == 1 ? accounts[0] : ""
        }
        throw CofferError(
            .invalidInput,
            "The profile \(profile.printable) has several sessions. Specify one with --account: "
                + "\(accounts.map(\.printable).joined(separator: ", ")).")
    }
}
