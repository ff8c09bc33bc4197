import Coffer
import CofferBase
import CofferEngine
import Testing
import TestSupport

/// The contract suite on the keyrings that need nothing running.
@Suite("The keyring contract")
struct ItemStorageContractTests {
    @Test("FileStorage fulfils the contract", arguments: ItemStorageContract.laws)
    func file(_ law: ItemStorageContract) throws { try law.check(FileBackend()) }

    @Test("InMemoryStorage fulfils the contract", arguments: ItemStorageContract.laws)
    func memory(_ law: ItemStorageContract) throws { try law.check(MemoryBackend()) }
}

/// A home of its own.
private final class FileBackend: StorageUnderTest {
    private let scratch: TestHome
    private let home: VaultDirectory
    private let device: DeviceKey

    init() throws {
        scratch = try TestHome()
        let made = try VaultDirectory.create(
            at: scratch.location, options: TestHome.options(), passcode: nil, addingStores: { (_, _) in })
        home = made.home
        device = made.device
    }

    func open() throws -> any ItemStorage { FileStorage(home: home, device: device) }

    func restart() {}
}

/// Memory does not outlast its owner: all owners share one.
private final class MemoryBackend: StorageUnderTest {
    private let keyring = InMemoryStorage()

    func open() -> any ItemStorage { keyring }

    func restart() {}
}
