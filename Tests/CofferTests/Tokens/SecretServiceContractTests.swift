#if SecretService
    import Coffer
    import CofferBase
    import TestSupport
    import Testing

    /// The contract suite on a real gnome-keyring, which is killed and restarted in the middle of it.
    @Suite("The keyring contract on gnome-keyring")
    struct SecretServiceContractTests {
        @Test("A keyring with a password fulfils the contract", arguments: ItemStorageContract.laws)
        func encrypted(_ law: ItemStorageContract) throws { try law.check(ServiceBackend(.encrypted)) }

        @Test(
            "A keyring without a password, in a plain text file, fulfils the contract",
            arguments: ItemStorageContract.laws)
        func plainText(_ law: ItemStorageContract) throws { try law.check(ServiceBackend(.plainText)) }
    }

    private final class ServiceBackend: StorageUnderTest {
        private let keyring: PrivateKeyring
        private let vaultID: VaultID

        init(_ collection: PrivateKeyring.Collection) throws {
            keyring = try #require(try PrivateKeyring(collection))
            vaultID = try VaultID.random()
        }

        func open() throws -> any ItemStorage {
            let client = SecretServiceClient(address: keyring.address)
            return try SecretServiceStorage(tokensOf: vaultID, client: client)
        }

        func restart() throws { try keyring.restart() }
    }
#endif
