// snippet: tokenClient
import Coffer

struct APIClient {
    let vault: Vault
    let id: TokenID

    init(_ vault: Vault, account: String) throws {
        self.vault = vault
        id = try TokenID(service: "api.example.org", account: account)
    }

    func signIn(fromDescriptor descriptor: Int32) async throws {
        let token = try Token.read(fromDescriptor: descriptor)
        try await vault.tokens.put(token, for: id, precondition: .absent)
    }

    func authorization() async throws -> String? {
        guard let found = try await vault.tokens.get(id) else { return nil }
        return found.token.exposingString { text in "Bearer " + text }
    }

    func renew(_ exchange: @escaping @Sendable (_ current: Token) async throws -> Token) async throws -> Bool
    {
        let result = try await vault.tokens.refresh(id) { current, _ in
            RefreshResponse(try await exchange(current))
        }
        return result?.didRefresh ?? false
    }

    func signOut() async throws -> Bool {
        try await vault.tokens.remove(id)
    }
}
// snippet end
