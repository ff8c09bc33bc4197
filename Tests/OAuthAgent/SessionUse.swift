import Coffer
import CofferBase
import CofferOAuth
import Synchronization
import SystemPackage

/// The time in seconds by which this process's clocks are ahead.
private final class Lead: Sendable {
    private let value = Mutex<Int64>(0)

    var time: Duration { .seconds(value.withLock { $0 }) }
    func set(_ seconds: Int64) { value.withLock { $0 = seconds } }
}

/// Uses a session at a server, as another process: HOME PROFILE ACCOUNT URL. After each line of input, which
/// is the time in seconds by which the clocks are ahead, it asks for an access token for the URL, and prints
/// `used` or the error.
func useSession(_ arguments: [String]) async throws {
    guard arguments.count == 4 else { throw CofferError(.invalidInput, "HOME PROFILE ACCOUNT URL") }
    let vault = try await Vault(at: VaultLocation(path: FilePath(arguments[0])))
    try await vault.unlock()
    let lead = Lead()
    let clock = VaultClock(
        bootTime: { VaultClock.system.bootTime() + lead.time },
        wallClock: { VaultClock.system.wallClock() + lead.time },
        bootIdentifier: { VaultClock.system.bootIdentifier() })
    let oauth = try await OAuth(vault, onRevocation: .keep, onLost: .keep, clock: clock)
    let grant = try await oauth.grant(arguments[1], account: arguments[2])
    let url = try HTTPSURL(arguments[3])
    say("ready")
    while let line = readLine(), let seconds = Int64(line) {
        lead.set(seconds)
        do throws(CofferError) {
            _ = try await grant.withAccessToken(for: url, minimumLife: .zero) {
                (token: Token, _: TokenInfo) async throws(CofferError) -> Int in token.count
            }
            say("used")
        } catch {
            say("failed: \(error.code.name)")
        }
    }
}
