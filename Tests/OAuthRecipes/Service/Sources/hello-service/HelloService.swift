import AsyncHTTPClient
import Coffer
import CofferOAuth
import NIOCore

/// Sends one request with the session `work` of a vault without a passcode, and prints the status and the
/// body.
///
///     hello-service HOME ACCOUNT URL
@main
struct HelloService {
    static func main() async throws {
        let arguments = CommandLine.arguments
        let vault = try await Vault(at: VaultLocation(path: arguments[1]))
        try await vault.unlock()
        let grant = try await OAuth(vault).grant("work", account: arguments[2])
        // snippet: client
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        let http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        // snippet end
        do {
            let response = try await HelloClient(grant: grant, http: http).get(HTTPSURL(arguments[3]))
            let body = try await response.body.collect(upTo: 1 << 20)
            print(response.status.code, String(buffer: body))
        } catch {
            try await http.shutdown()
            throw error
        }
        try await http.shutdown()
    }
}
