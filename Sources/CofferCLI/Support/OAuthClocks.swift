import Coffer
import CofferBase
import CofferCommandLine

/// The check of this machine's clock against those of the OAuth servers whose sessions the vault has.
enum OAuthClocks {
    private static let tolerance = 300

    /// Returns the check; none if the vault is locked or has no session that knows its server's time.
    static func checks(_ global: GlobalOptions) async -> [SecurityCheck] {
        guard let vault = try? await VaultOpener.unlockedSilently(global),
            let skews = try? await vault.tokens.sessionClockSkews(),
            let worst = skews.max(by: { $0.seconds.magnitude < $1.seconds.magnitude })
        else { return [] }
        let name = "server-clock"
        guard worst.seconds.magnitude > tolerance else {
            return [
                SecurityCheck(
                    name, .ok, "The clocks of this machine and of the OAuth servers agree within 5 minutes.")
            ]
        }
        let minutes = worst.seconds.magnitude / 60
        return [
            SecurityCheck(
                name, .advisory,
                "The clock of the server of the session \(worst.name.printable) is \(minutes) minutes "
                    + "\(worst.seconds > 0 ? "ahead of" : "behind") this machine's. Requests are signed with "
                    + "the server's time, but this machine's clock decides which certificates are valid. Set "
                    + "it if it is wrong.")
        ]
    }
}
