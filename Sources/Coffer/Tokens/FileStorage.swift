import CofferBase
import Synchronization

/// The embedded keyring: the sealed file of ``TokenFile`` in the home. Works with nothing running.
///
/// Several changes together are made as one.
final class FileStorage: ItemStorage {
    private let home: VaultDirectory
    private let file: TokenFile
    /// The items last read.
    private let cache = Mutex<TokenFile.Snapshot?>(nil)

    init(home: VaultDirectory, device: DeviceKey) {
        self.home = home
        file = TokenFile(device: device)
    }

    func envelope(_ name: [UInt8]) throws(CofferError) -> [UInt8]? { try current().envelopes[name] }

    func envelopes() throws(CofferError) -> [[UInt8]: [UInt8]] { try current().envelopes }

    func count() throws(CofferError) -> Int { try current().envelopes.count }

    func apply(_ changes: [[UInt8]: StorageChange]) throws(CofferError) {
        var contents = try current()
        guard changes.contains(where: { $1 != .remove || contents.envelopes[$0] != nil }) else { return }
        contents.envelopes = contents.envelopes.applying(changes)
        try file.write(contents, in: home.openVault())
    }

    /// The envelope of a name from what was last read, when that is still what is there.
    func cachedEnvelope(_ name: [UInt8]) -> [UInt8]? {
        guard let cached = cache.withLock({ $0 }), let vault = try? home.tokenVault(),
            (try? file.isCurrent(cached, in: vault.directory)) == true
        else { return nil }
        return cached.contents.envelopes[name]
    }

    /// The items as they are on the disk now, read anew only when somebody changed them.
    private func current() throws(CofferError) -> TokenFile.Contents {
        let vault = try home.tokenVault()
        if let cached = cache.withLock({ $0 }), try file.isCurrent(cached, in: vault.directory) {
            return cached.contents
        }
        return try home.mappingMissingFiles { () throws(CofferError) in
            let snapshot = try file.read(in: vault.directory)
            cache.withLock { $0 = snapshot }
            return snapshot.contents
        }
    }
}
