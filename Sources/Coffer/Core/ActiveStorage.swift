import CofferBase
import CofferEngine
import CofferVault
import Synchronization

/// A token storage that forwards to the storage that the vault directory currently records, even after
/// another process has moved the tokens.
final class ActiveStorage: ItemStorage {
    private struct Current: Sendable {
        let backend: KeyringBackend
        let storage: any ItemStorage
        /// The device key file's status at the time when the backend was read from the file.
        let record: FileStatus?
    }

    private let home: VaultDirectory
    private let device: DeviceKey
    private let current = Mutex<Current?>(nil)

    init(home: VaultDirectory, device: DeviceKey) {
        self.home = home
        self.device = device
    }

    /// Returns the backend that holds the tokens now.
    func backend() throws(CofferError) -> KeyringBackend { try recorded().backend }

    func envelope(_ name: [UInt8]) throws(CofferError) -> [UInt8]? {
        try reading { (storage) throws(CofferError) in try storage.envelope(name) }
    }

    func envelopes() throws(CofferError) -> [[UInt8]: [UInt8]] {
        try reading { (storage) throws(CofferError) in try storage.envelopes() }
    }

    func readableEnvelopes() throws(CofferError) -> (envelopes: [[UInt8]: [UInt8]], damaged: [String]) {
        try reading { (storage) throws(CofferError) in try storage.readableEnvelopes() }
    }

    func count() throws(CofferError) -> Int {
        try reading { (storage) throws(CofferError) in try storage.count() }
    }

    /// The number of the token file's last change; `nil` if the tokens are in the Secret Service.
    func generation() throws(CofferError) -> UInt64? {
        try reading { (storage) throws(CofferError) in try (storage as? FileStorage)?.generation() }
    }

    func cachedEnvelope(_ name: [UInt8]) -> [UInt8]? {
        guard let known = try? recorded() else { return nil }
        return known.storage.cachedEnvelope(name)
    }

    /// Changes envelopes. The caller must hold the vault directory's lock, so that no other process moves the
    /// envelopes in the meantime.
    func apply(_ changes: [[UInt8]: StorageChange]) throws(CofferError) {
        try recorded().storage.apply(changes)
    }

    /// Runs `body`, and runs it a second time if another process moved the tokens to another backend in the
    /// meantime.
    private func reading<Result>(
        _ body: (any ItemStorage) throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        let before = try recorded()
        do throws(CofferError) {
            let result = try body(before.storage)
            // The token file is read in one step. Items of the Secret Service may be moved between two reads.
            guard before.backend == .secretService else { return result }
            let after = try recorded()
            return after.backend == before.backend ? result : try body(after.storage)
        } catch {
            let after = try recorded()
            guard after.backend != before.backend else { throw error }
            return try body(after.storage)
        }
    }

    private func recorded() throws(CofferError) -> Current {
        let vault = try home.tokenVault()
        return try home.mappingMissingFiles { () throws(CofferError) in
            let record = try vault.directory.status(of: DeviceKeyFile.name)
            if let known = current.withLock({ $0 }), known.record == record { return known }
            let file = try DeviceKeyFile.read(in: vault.directory)
            guard file.vaultID == device.vaultID else { throw CofferError.wiped }
            let storage: any ItemStorage =
                switch file.backend {
                case .file: FileStorage(home: home, device: device)
                case .secretService:
                    try SecretServiceStorage(tokensOf: device.vaultID, client: home.service)
                }
            let found = Current(backend: file.backend, storage: storage, record: record)
            current.withLock { $0 = found }
            return found
        }
    }
}
