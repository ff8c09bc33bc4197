import BenchPeers
import Coffer
import CofferBase
import CofferEngine
import Synchronization
import SystemPackage
import TestSupport

/// Vaults with tokens, and a real keyring on a bus of its own, for the benchmarks of tokens.
enum VaultBench {
    /// As long as a usual access token.
    static let value = String(repeating: "0123456789abcdef", count: 12)

    /// The one keyring of this process: libsecret keeps to the first bus that it has seen.
    private static let service = Mutex<Service?>(nil)

    /// Used in the mutex alone.
    private struct Service { let keyring: PrivateKeyring }

    static func id(_ number: Int) throws(CofferError) -> TokenID {
        try TokenID(service: "service-\(number).example.org", account: "ada")
    }

    /// A session without a passcode, unlocked, with tokens in the home.
    static func session(
        _ name: String, tokens: Int, in workspace: Workspace, keyring: KeyringBackend = .file,
        bus: String? = nil
    ) async throws(CofferError) -> (session: Vault, location: VaultLocation) {
        let location = VaultLocation(path: workspace.file(name), sessionBus: bus)
        var options = VaultOptions()
        options.keyring = keyring
        let session = try await Vault.create(at: location, options: options, passcode: nil)
        for number in 0..<tokens { try await session.tokens.put(Token(copying: value), for: id(number)) }
        return (session, location)
    }

    /// The address of a bus with a real keyring, which holds `others` items besides; `nil` where there is
    /// none.
    static func keyring(others: Int = 0) throws(CofferError) -> String? {
        do {
            return try service.withLock { service in
                if service == nil, let made = try PrivateKeyring(.plainText) {
                    service = Service(keyring: made)
                    OwnProcess.setEnvironment("DBUS_SESSION_BUS_ADDRESS", made.address)
                }
                try service?.keyring.fill(others)
                return service?.keyring.address
            }
        } catch {
            throw CofferError(.internalFailure, "The keyring of the benchmark does not start.")
        }
    }

    /// Ends the keyring.
    static func close() { service.withLock { $0 = nil } }
}
