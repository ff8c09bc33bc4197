// snippet: service
import Coffer
import SystemPackage

struct HelloService {
    let vault: Vault
    let id: TokenID

    init(at location: VaultLocation, credentials: FilePath) async throws {
        let file = try FileDescriptor.open(credentials.appending("passcode"), .readOnly)
        let passcode = try Passcode.read(fromDescriptor: file.rawValue)
        vault = try await Vault(at: location)
        try await vault.unlock(with: passcode)
        id = try TokenID(service: "api.example.org", account: "hello")
    }

    func authorization() async throws -> String? {
        let found = try await vault.tokens.get(id)
        return found?.token.exposingString { text in "Bearer " + text }
    }

    func renew(_ exchange: @escaping @Sendable (_ current: Token) async throws -> Token) async throws {
        _ = try await vault.tokens.refresh(id) { current, _ in
            RefreshResponse(try await exchange(current))
        }
    }
}
// snippet end
