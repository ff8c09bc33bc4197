public import CofferBase
import CofferDBus
import CofferEngine
import CofferVault

extension Vault {
    /// The time limit for inspecting the desktop keyring for a report.
    private static let timeout = Duration.seconds(2)

    /// Returns the storage backend to use if the user does not choose one: the Secret Service if it answers
    /// and its default collection is unlocked, otherwise the embedded keyring. Starts no service and shows no
    /// prompt.
    public static func preferredStorage(at location: VaultLocation) async -> KeyringBackend {
        let found = try? await BlockingExecutor.run { _ throws(CofferError) in
            secretServiceState(on: location.sessionBus)
        }
        guard let found, case .found(let collection) = found, !collection.isLocked else { return .file }
        return .secretService
    }

    /// Checks that the Secret Service can be used now.
    ///
    /// - Parameters:
    ///   - location: The directory of the vault, which may not exist yet.
    ///   - interaction: Whether the desktop keyring may prompt the user to unlock it.
    /// - Throws: `noSessionBus`, `noSecretService`, `noDefaultCollection`, `keyringLocked`, `noPrompter`,
    ///   `promptDismissed`, `timedOut`, `interrupted`.
    public static func checkSecretService(
        at location: VaultLocation, interaction: PromptPolicy = .never
    ) async throws(CofferError) {
        try await BlockingExecutor.run { _ throws(CofferError) in
            try SecretServiceClient(address: location.sessionBus, interaction: interaction)
                .requireReadable(Deadline(SecretServiceClient.deadline))
        }
    }

    private enum SecretServiceState {
        case found(SecretCollection)
        case none(String)
    }

    private static func secretServiceState(on bus: String?) -> SecretServiceState {
        switch SecretServiceProbe.check(at: bus, deadline: timeout) {
        case .running: break
        case .absent: return .none("The session bus has no Secret Service")
        case .noBus: return .none("There is no session bus")
        case .timedOut: return .none("The session bus did not answer in time")
        case .notBuilt: return .none("This build does not support the Secret Service")
        }
        do throws(CofferError) {
            let client = SecretServiceClient(address: bus)
            return .found(try SecretCollection.inspect(client, Deadline(timeout)))
        } catch {
            switch error.code {
            case .noDefaultCollection: return .none("The Secret Service has no default collection")
            case .timedOut: return .none("The Secret Service did not answer in time")
            default: return .none("The Secret Service cannot be used (\(error.code.name))")
            }
        }
    }

    static func secretService(on bus: String?) -> SecurityCheck {
        let name = "secret-service"
        switch secretServiceState(on: bus) {
        case .none(let found):
            return SecurityCheck(name, .missing, found + ": only the embedded keyring can be used here.")
        case .found(let collection) where collection.storage == .plainText:
            return SecurityCheck(
                name, .advisory,
                "The default collection of the desktop keyring has no password: it is a plain text file. Set "
                    + "a password for it in the keyring's program.")
        case .found(let collection):
            return SecurityCheck(
                name, .ok,
                "A Secret Service answers; its default collection is "
                    + "\(collection.isLocked ? "locked" : "unlocked").")
        }
    }

    static func deviceKey(_ backend: KeyringBackend, on bus: String?) -> SecurityCheck {
        let name = "device-key"
        guard backend == .secretService else {
            return SecurityCheck(
                name, .advisory,
                "The device key is a file of mode 0600 in the vault directory, so a copy of the directory "
                    + "contains it. Keep it on an encrypted disk and out of backups that others can read.")
        }
        if case .found(let collection) = secretServiceState(on: bus), collection.storage == .plainText {
            return SecurityCheck(
                name, .advisory,
                "The device key is in the Secret Service, whose collection has no password: a copy of the "
                    + "vault directory and of the keyring's file contains it. Set a password in the "
                    + "keyring's program.")
        }
        return SecurityCheck(
            name, .ok,
            "The device key is in the Secret Service, sealed under a key in the vault directory: an attacker "
                + "needs both. While the keyring is unlocked, every program of this user can read both.")
    }
}
