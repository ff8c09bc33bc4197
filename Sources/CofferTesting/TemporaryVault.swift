public import Coffer
public import CofferBase
import CofferEngine
import SystemPackage

/// A real vault for a consumer's tests: real cryptography and real files, in memory where the machine has a
/// memory file system, at the least cost for the passcode, gone when the test ends.
///
/// ```swift
/// try await TemporaryVault.with(passcode: "2468") { vault in
///     let session = vault.session
///     try await session.tokens.put(Token(copying: "secret"), for: id)
///     vault.clock.advance(by: .seconds(601))
///     // the session is locked now
/// }
/// ```
public struct TemporaryVault: Sendable {
    /// The open session, unlocked.
    public let session: Vault
    /// The clock that the session goes by.
    public let clock: TestClock
    /// Where the vault is: open further sessions there.
    public let location: VaultLocation
    /// What goes wrong between the session and its keyring, when the test says so.
    public let faults: TestFaults

    private init(session: Vault, clock: TestClock, location: VaultLocation) {
        self.session = session
        self.clock = clock
        self.location = location
        faults = TestFaults(session.keyringFaults)
    }

    /// Makes a vault, gives it to `body` and removes it, whatever `body` does.
    ///
    /// - Parameters:
    ///   - passcode: `nil` for none.
    ///   - options: How the home is set up; the cost is replaced by the least one.
    ///   - service: The device key and the tokens are kept there instead of in the home.
    ///   - body: The test.
    /// - Returns: What `body` gives.
    /// - Throws: What making the vault or `body` throws.
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
        let session = try await Vault.create(
            at: location, options: options, passcode: passcode.map { text in try Passcode(copying: text) },
            time: clock.source)
        defer { session.close() }
        return try await body(TemporaryVault(session: session, clock: clock, location: location))
    }

    /// Another session on the same vault, locked, by the same clock: what another process would see.
    ///
    /// - Parameter interaction: Whether the keyring may ask the user.
    /// - Returns: The open session.
    /// - Throws: As ``Vault/open(at:time:interaction:)``.
    public func openAnother(
        interaction: PromptPolicy = .never
    ) async throws(CofferError) -> Vault {
        try await Vault.open(at: location, time: clock.source, interaction: interaction)
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
