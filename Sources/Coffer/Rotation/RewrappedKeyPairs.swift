import CofferBase
import CofferEngine
import CofferVault

/// The part of a key rotation that concerns key pairs. The method requires the vault directory's lock.
struct RewrappedKeyPairs {
    private let core: VaultCore

    init(_ core: VaultCore) { self.core = core }

    /// Rewraps the keys of all key pairs that are wrapped under replaced keys, in one change. Returns how
    /// many changed and how many can be opened neither with their class's key nor with the one that it
    /// replaces. A file that cannot be read counts as one, because the key pairs in it may depend on the
    /// replaced keys.
    func rewrap(in vault: borrowing Descriptor) throws(CofferError) -> (changed: Int, unreadable: Int) {
        let file = KeyPairFile(device: core.device)
        var contents: KeyPairFile.Contents
        do throws(CofferError) {
            contents = try file.read(in: vault)
        } catch {
            guard KeyPairFile.isUnreadable(error) else { throw error }
            return (0, 1)
        }
        var (changed, unreadable) = (0, 0)
        for record in contents.records {
            do throws(CofferError) {
                guard let key = core.keys.present(record.pair.protection), key.former != nil,
                    let new = try record.rewrapped(under: key, vaultID: core.device.vaultID)
                else { continue }
                contents.replace(new)
                changed += 1
            } catch {
                guard KeyPairFile.isUnreadable(error) else { throw error }
                unreadable += 1
            }
        }
        // The old file's keys would open with the replaced keys, which are about to be destroyed.
        if changed > 0 { try file.write(contents, in: vault) }
        return (changed, unreadable)
    }
}
