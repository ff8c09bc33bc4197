@testable import Coffer
import CofferBase
import CofferEngine
import TestSupport
import Testing

/// The contract suite on the keyrings that need nothing running.
@Suite("The keyring contract")
struct KeyringContractTests {
    @Test("FileKeyring", arguments: KeyringContract.laws)
    func file(_ law: KeyringContract) throws { try law.check(FileBackend()) }

    @Test("MemoryKeyring", arguments: KeyringContract.laws)
    func memory(_ law: KeyringContract) throws { try law.check(MemoryBackend()) }
}

/// A home of its own.
private final class FileBackend: KeyringUnderTest {
    private let scratch: TestHome
    private let home: VaultDirectory
    private let device: DeviceKey

    init() throws {
        scratch = try TestHome()
        let made = try VaultDirectory.create(at: scratch.location, options: TestHome.options(), passcode: nil)
        home = made.home
        device = made.device
    }

    func open() throws -> any Keyring { FileKeyring(home: home, device: device) }

    func restart() {}
}

/// Memory does not outlast its owner: all owners share one.
private final class MemoryBackend: KeyringUnderTest {
    private let keyring = MemoryKeyring()

    func open() -> any Keyring { keyring }

    func restart() {}
}
