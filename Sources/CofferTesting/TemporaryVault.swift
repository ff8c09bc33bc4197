public import Coffer
public import CofferBase
import CofferEngine
import SystemPackage

/// A vault for tests, with real cryptography and real files. The files are kept in memory if the machine has
/// an in-memory file system, the passcode cost is the minimum, and the vault is removed when the test ends.
///
/// ```swift
/// try await TemporaryVault.with(passcode: "2468") { temporary in
///     let vault = temporary.vault
///     try await vault.tokens.put(Token(copying: "secret"), for: id)
///     temporary.clock.advance(by: .seconds(601))
///     // The vault is locked now.
/// }
/// ```
public struct TemporaryVault: Sendable {
    /// The open and unlocked vault.
    public let vault: Vault
    /// The clock that the vault uses.
    public let clock: TestClock
    /// The vault's location, for opening the vault again.
    public let location: VaultLocation
    /// The faults that the test injects between the vault and its keyring.
    public let faults: TestFaults

    private init(vault: Vault, clock: TestClock, location: VaultLocation, faults: TestFaults) {
        self.vault = vault
        self.clock = clock
        self.location = location
        self.faults = faults
    }

    /// Creates a vault, passes it to `body`, and removes it, even if `body` throws.
    ///
    /// - Parameters:
    ///   - passcode: The passcode; `nil` for none.
    ///   - options: The vault's options. The cost is always the minimum. If `service` is not `nil`, the
    ///     keyring is always the Secret Service.
    ///   - service: The service that stores the device key and the tokens; `nil` to use the keyring that
    ///     `options` specifies.
    ///   - body: The test, which receives the vault.
    /// - Returns: The result of `body`.
    /// - Throws: An error from creating the vault, or an error that `body` throws.
    public static func with<Result>(
        passcode: String? = nil, options: VaultOptions = VaultOptions(), service: FakeSecretService? = nil,
        _ body: (TemporaryVault) async throws -> Result
    ) async throws -> Result {
        let parent = temporaryDirectory
        let name = FilePath("coffer-testing" + (try Descriptor.temporaryName().string))
        let directory = try Descriptor.open(parent, [.read, .directory])
        try directory.makeDirectory(name)
        defer { try? directory.removeTree(name) }
        let clock = TestClock()
        let path = parent.pushing(name).appending("home")
        let location = VaultLocation(path: path, sessionBus: service?.address)
        var options = options
        options.cost = .floor
        if service != nil { options.keyring = .secretService }
        let faults = TestFaults()
        let vault = try await Vault.create(
            at: location, options: options, passcode: passcode.map { text in try Passcode(copying: text) },
            clock: clock.source, interaction: .never,
            decoratingStorage: { FaultInjectingStorage(base: $0, faults: faults) })
        defer { vault.close() }
        return try await body(
            TemporaryVault(vault: vault, clock: clock, location: location, faults: faults))
    }

    /// Opens the same vault again with the same clock, as another process would. The new vault is locked.
    ///
    /// - Parameter interaction: Whether the keyring may prompt the user.
    /// - Returns: The newly opened vault.
    /// - Throws: The errors that `Vault.init(at:clock:interaction:)` throws.
    public func openAnother(
        interaction: PromptPolicy = .never
    ) async throws(CofferError) -> Vault {
        try await Vault(at: location, clock: clock.source, interaction: interaction)
    }

    private static var temporaryDirectory: FilePath {
        let shared: FilePath = "/dev/shm"
        if let directory = try? Descriptor.open(shared, [.read, .directory]),
            (try? FileSystemInfo.of(directory).isMemory) == true
        {
            return shared
        }
        return FilePath(Environment.value("TMPDIR") ?? "/tmp")
    }
}
