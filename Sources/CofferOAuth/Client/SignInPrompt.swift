/// A request to show something to a user who signs in.
public enum SignInPrompt: Sendable {
    /// The browser is being opened at this URL.
    case browser(HTTPSURL)
    /// No browser could be started: the user must open this URL on this machine.
    case openYourself(HTTPSURL)
    /// The user must open this URL in any browser, sign in, and paste the address of the last page.
    case paste(HTTPSURL)
    /// The user must open the page and enter the code. Show ``deviceWarning``, too.
    case device(DeviceAuthorization)

    /// A warning to show beside a device code, because attackers send people codes of their own sign-ins.
    public static let deviceWarning =
        "Enter the code only if you started this sign-in yourself. Never enter a code that somebody sent you."
}
