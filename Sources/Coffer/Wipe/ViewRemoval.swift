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

    /// The vaults whose views somebody else removes.
    private let others: [VaultID]

    /// Removes the views that bear one of `ids`. The vault's directory says where it made some; without it,
    /// the usual places are looked at.
    ///
    /// A view that bears another vault's id stays: nothing tells whether it is that vault's, or one of this
    /// vault whose lease somebody changed. It is among those not seen, unless the id is one of `others`.
    init(of ids: [VaultID], vault: VaultHandle?, others: [VaultID] = []) {
        self.others = others
        let record = vault.map { ViewRootRecord(in: $0.directory) } ?? ViewRootRecord()
        let found = ViewCopyDirectory.existing(record, isForWiping: true)
        unseen = found.unseen
        for root in found.roots { removeViews(of: ids, in: root) }
    }

    private mutating func removeViews(of ids: [VaultID], in root: ViewCopyDirectory.Root) {
        let place = "\(root.directory.path)"
        do throws(CofferError) {
            for name in try root.directory.names() {
                let owner = try? ViewCopyDirectory.owner(of: name, in: root.directory)
                // Without a lease there is one whose removal was cut short.
                let isLost =
                    owner == nil && ViewRootRecord.isView(name)
                    && (try? ViewCopyDirectory.isDead(name, in: root.directory)) == true
                guard isLost || owner.map({ ids.contains($0) }) == true else {
                    if ViewRootRecord.isView(name) { note("\(place)/\(name)", of: owner) }
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
        ViewCopyDirectory.removeIfEmpty(root.directory)
    }

    private mutating func note(_ view: String, of owner: VaultID?) {
        guard let owner else {
            return unseen.append((view, CofferError(.corrupt, "Its lease names no vault.")))
        }
        guard !others.contains(owner) else { return }
        unseen.append((view, CofferError(.foreign, "Its lease names another vault, \(owner).")))
    }
}
