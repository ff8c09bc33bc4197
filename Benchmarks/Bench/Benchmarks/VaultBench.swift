import BenchPeers
import Coffer
import CofferBase
import CofferEngine
import Synchronization
import SystemPackage
import TestSupport

/// Vaults with tokens, and a real keyring on a private bus, for the benchmarks of tokens.
enum VaultBench {
    /// As long as a typical access token.
    static let value = String(repeating: "0123456789abcdef", count: 12)

    /// The only keyring of this process: libsecret keeps using the first bus that it connects to.
    private static let service = Mutex<Service?>(nil)

    /// Accessed only inside the mutex.
    private struct Service { let keyring: PrivateKeyring }

    static func id(_ number: Int) throws(CofferError) -> TokenID {
        try TokenID(service: "service-\(number).example.org", account: "ada")
    }

    /// An unlocked vault without a passcode, with tokens in the vault directory.
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

    /// The address of a bus with a real keyring that also holds `others` unrelated items; `nil` if there is
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

    /// Stops the keyring.
    static func close() { service.withLock { $0 = nil } }
}
