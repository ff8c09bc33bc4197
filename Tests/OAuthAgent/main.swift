import Coffer
import CofferBase
import CofferEngine
import CofferOAuth
import SystemPackage

// The second process of tests of sessions: HOME LOG PROFILE ACCOUNT answer|wait. It prints `ready`, renews a
// session's tokens after a line of input, and prints what became of it. With `wait`, it prints `asked` when
// the request has been sent, and waits for another line before the answer. `use` uses a session at a real
// server: SessionUse.swift.

let arguments = Array(CommandLine.arguments.dropFirst())
do {
    if arguments.first == "use" {
        try await useSession(Array(arguments.dropFirst()))
    } else {
        try await renewSession(arguments)
    }
} catch {
    say("failed: \((error as? CofferError)?.code.name ?? "\(error)")")
}

func renewSession(_ arguments: [String]) async throws {
    guard arguments.count == 5 else {
        throw CofferError(.invalidInput, "HOME LOG PROFILE ACCOUNT answer|wait")
    }
    let vault = try await Vault(at: VaultLocation(path: FilePath(arguments[0])))
    try await vault.unlock()
    say("ready")
    _ = readLine()
    let profile = try OAuthProfile(
        arguments[2], issuer: "https://login.example.org", clientID: "desktop", scopes: ["api"],
        resourceHosts: ["api.example.org"])
    let endpoint = LoggingEndpoint(log: FilePath(arguments[1]), waits: arguments[4] == "wait")
    let outcome = try await RefreshMachine(GrantStore(vault), profile: profile).run(
        GrantID(profile: arguments[2], account: arguments[3]), endpoint: endpoint)
    switch outcome {
    case .current: say("current")
    case .refreshed: say("refreshed")
    default: say(outcome.error?.code.name ?? "none")
    }
}
