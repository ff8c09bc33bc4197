package import CofferBase
import Synchronization

/// The built-in token storage: the sealed ``TokenFile`` in the vault. The storage requires no running
/// service.
///
/// Changes that are passed in one call are written atomically.
package final class FileStorage: ItemStorage {
    private let home: VaultDirectory
    private let file: TokenFile
    /// The items that were read most recently.
    private let cache = Mutex<TokenFile.Snapshot?>(nil)

    package init(home: VaultDirectory, device: DeviceKey) {
        self.home = home
        file = TokenFile(device: device)
    }

    package func envelope(_ name: [UInt8]) throws(CofferError) -> [UInt8]? { try current().envelopes[name] }

    package func envelopes() throws(CofferError) -> [[UInt8]: [UInt8]] { try current().envelopes }

    package func count() throws(CofferError) -> Int { try current().envelopes.count }

    /// The number of the file's last change. Every change adds one, whichever process makes it.
    package func generation() throws(CofferError) -> UInt64 { try current().generation }

    package func apply(_ changes: [[UInt8]: StorageChange]) throws(CofferError) {
        var contents = try current()
        guard changes.contains(where: { $1 != .remove || contents.envelopes[$0] != nil }) else { return }
        contents.envelopes = contents.envelopes.applying(changes)
        try file.write(contents, in: home.openVault())
    }

    /// Returns the cached envelope if the file has not changed since it was read.
    package func cachedEnvelope(_ name: [UInt8]) -> [UInt8]? {
        guard let cached = cache.withLock({ $0 }), let vault = try? home.tokenVault(),
            (try? file.isCurrent(cached, in: vault.directory)) == true
        else { return nil }
        return cached.contents.envelopes[name]
    }

    /// Returns the items on disk. Reads the file only if it has changed since it was last read.
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
