import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine
import CofferOAuth

/// The `coffer oauth login` command, which signs a user in.
struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Sign in at a profile's server.",
        discussion: """
            Opens the user's browser ($BROWSER, or xdg-open), which brings the answer back to this machine, \
            and waits 10 minutes for it. \
            With --no-browser, prints a URL to open anywhere; the address of the last page, which cannot be \
            shown, is then pasted here. With --device, prints a page and a code to enter there. To end a \
            sign-in that waits, press Ctrl-C: coffer lock does not end it.

            If the server later revokes the session, the vault of a user with the account's name is erased.
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: ArgumentHelp("The profile.", valueName: "name"))
    var profile: String

    @Option(help: "A name for the user on this machine; default: none, as for the only user of a profile.")
    var account = ""

    @Flag(help: "Sign in on another device, with a code.")
    var device = false

    @Flag(help: "Start no browser, and ask for the address of the last page.")
    var noBrowser = false

    func run() async throws {
        guard !device || !noBrowser else {
            throw CofferError(.invalidInput, "Specify either --device or --no-browser.")
        }
        let oauth = try await Sessions.open(global)
        let settings = try await oauth.profiles.profile(profile)
        ProfileText.warn(about: settings)
        let way: SignInWay =
            device
            ? .device
            : noBrowser
                ? .pastedRedirect { () async throws(CofferError) -> Token in try PastedAddress.read() }
                : .browser
        let grant = try await oauth.signIn(profile, account: account, by: way) { prompt in
            Self.show(prompt)
        }
        let record = try await grant.record()
        guard global.json else {
            return Output.message("coffer: Signed in at \(settings.issuer.text).")
        }
        try Output.json(
            .object([
                ("profile", .text(grant.profile)), ("account", .text(grant.account)),
                ("subject", record.subject.map { .text($0) } ?? .none),
                ("scopes", .list(record.scopes.map { .text($0) })),
            ]))
    }

    private static func show(_ prompt: SignInPrompt) {
        switch prompt {
        case .browser(let url):
            Output.message("coffer: Opening the browser at \(url.text)")
            Output.message(
                "coffer: Waiting up to 10 minutes for the sign-in. If the page shows an error or was closed, "
                    + "press Ctrl-C; without a browser here, use --no-browser or --device.")
        case .openYourself(let url):
            Output.message("coffer: No browser could be started. Open this address on this machine:")
            Output.message(url.text)
        case .paste(let url):
            Output.message("coffer: Open this address, sign in, and copy the address of the last page:")
            Output.message(url.text)
        case .device(let codes):
            Output.message("coffer: Open \(codes.verificationURL.text) and enter the code:")
            Output.message(codes.userCode)
            if let url = codes.completeVerificationURL { Output.message("coffer: Or open \(url.text)") }
            Output.message("coffer: \(SignInPrompt.deviceWarning)")
            let time =
                codes.lifetime < 120
                ? Plural.of(codes.lifetime, "second") : Plural.of(codes.lifetime / 60, "minute")
            Output.message("coffer: Waiting up to \(time) for the sign-in. To end it, press Ctrl-C.")
        }
    }
}
