public import CofferBase
import CofferDBus
import CofferEngine
import CofferVault

extension Vault {
    /// The time limit for inspecting the desktop keyring.
    private static let timeout = Duration.seconds(2)

    /// Returns the storage backend to use if the user does not choose one: the Secret Service if it answers
    /// and its default collection is unlocked; otherwise, the embedded keyring. This method starts no service
    /// and shows no prompt.
    ///
    /// - Parameter location: The vault's directory, which may not exist yet.
    /// - Returns: The storage backend to use.
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
    ///   - location: The vault's directory, which may not exist yet.
    ///   - interaction: Whether the desktop keyring may prompt the user to unlock it.
    /// - Throws: `noSessionBus` if there is no session bus; `noSecretService` if the bus has no Secret
    ///   Service; `noDefaultCollection` if the Secret Service has no default collection; `keyringLocked` if
    ///   the user's keyring is locked; `noPrompter` if the keyring would have to prompt the user but cannot;
    ///   `promptDismissed` if the user closed the prompt; `timedOut` if the Secret Service did not answer in
    ///   time; `interrupted` if it disappeared during a call.
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
        case .absent: return .none("No Secret Service is available on the session bus")
        case .noBus: return .none("No session bus is available")
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
            return SecurityCheck(name, .missing, found + ", so only the embedded keyring can be used.")
        case .found(let collection) where collection.storage == .plainText:
            return SecurityCheck(
                name, .advisory,
                "The desktop keyring's default collection has no password, so the collection is a plain-text "
                    + "file. Set a password in the keyring application.")
        case .found(let collection):
            return SecurityCheck(
                name, .ok,
                "The Secret Service is running, and its default collection is "
                    + "\(collection.isLocked ? "locked" : "unlocked").")
        }
    }

    static func deviceKey(_ backend: KeyringBackend, on bus: String?) -> SecurityCheck {
        let name = "device-key"
        guard backend == .secretService else {
            return SecurityCheck(
                name, .advisory,
                "The device key is a file with mode 0600 in the vault directory, so a copy of the directory "
                    + "contains the key.", remedy: .encryptDisk)
        }
        if case .found(let collection) = secretServiceState(on: bus), collection.storage == .plainText {
            return SecurityCheck(
                name, .advisory,
                "The device key is in the Secret Service, but the collection has no password. Anyone with a "
                    + "copy of the vault directory and the keyring file can read the key. Set a password in "
                    + "the keyring application.")
        }
        return SecurityCheck(
            name, .ok,
            "The device key is in the Secret Service, sealed under a key in the vault directory, so an "
                + "attacker needs the keyring and the directory. While the keyring is unlocked, all of this "
                + "user's programs can read both keys.")
    }
}
