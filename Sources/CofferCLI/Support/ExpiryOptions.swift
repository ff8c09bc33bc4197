import ArgumentParser
import CofferBase

/// The option for the time at which a token expires.
struct ExpiryOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            When the token expires: in 3600 (seconds), 10m, 1h, 90d or 2w, or at 2027-01-31 (UTC) or \
            2027-01-31T12:00:00Z.
            """,
            valueName: "time"))
    var expires: String?

    /// Another name of the same option.
    @Option(help: .hidden)
    var expiresIn: String?

    /// Parses the time; returns `nil` if no option names one.
    func time() throws(CofferError) -> TimeArgument? {
        guard let text = expires ?? expiresIn else { return nil }
        guard expires == nil || expiresIn == nil else {
            throw CofferError(.invalidInput, "Specify either --expires or --expires-in.")
        }
        // The name --expires-in leaves no doubt, and servers report such numbers of seconds.
        if expires != nil { try TimeArgument.refuseYear(text, of: "--expires") }
        return try TimeArgument.parse(text, of: expires == nil ? "--expires-in" : "--expires")
    }
}
