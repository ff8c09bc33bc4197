import CofferBase
import CofferEngine

/// Removes the views of a vault, dead or alive, wherever it may have made some: under the runtime directories
/// that it noted, the one of the environment, `/run/user/UID`, and every name of its form in /dev/shm.
struct ViewRemoval {
    /// How many views were removed.
    private(set) var count = 0
    /// Places that could not be looked at.
    private(set) var unseen: [(what: String, why: CofferError)]
    /// Views that are still there.
    private(set) var left: [(what: String, why: CofferError)] = []

    /// Removes the views that bear one of `ids`. The vault's directory says where it made some; without it,
    /// the usual places are looked at.
    init(of ids: [VaultID], vault: OpenVault?) {
        let record = vault.map { ViewRootRecord(in: $0.directory) } ?? ViewRootRecord()
        let found = ViewRoots.existing(record, searchingSharedMemory: true)
        unseen = found.unseen
        for root in found.roots { removeViews(of: ids, in: root) }
    }

    private mutating func removeViews(of ids: [VaultID], in root: ViewRoots.Root) {
        let place = "\(root.directory.path)"
        do throws(CofferError) {
            for name in try root.directory.names() {
                let owner = try? ViewRoots.owner(of: name, in: root.directory)
                // Without a lease there is one whose removal was cut short.
                let isLost =
                    owner == nil && ViewRootRecord.isView(name)
                    && (try? ViewRoots.isDead(name, in: root.directory)) == true
                guard isLost || owner.map({ ids.contains($0) }) == true else {
                    if owner == nil, ViewRootRecord.isView(name) {
                        unseen.append(
                            ("\(place)/\(name)", CofferError(.corrupt, "Its lease names no vault.")))
                    }
                    continue
                }
                if let error = root.directory.removeAll(of: name, overwriting: true).first {
                    left.append((place, error))
                } else {
                    count += 1
                }
            }
        } catch {
            unseen.append((place, error))
        }
        ViewRoots.removeIfEmpty(root.directory)
    }
}
