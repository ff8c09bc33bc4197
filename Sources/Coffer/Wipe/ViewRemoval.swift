import CofferBase
import CofferEngine
import CofferVault

/// The removal of a vault's view copies, whether in use or not, from every place where the vault may have
/// created them: the recorded runtime directories, the environment's runtime directory, `/run/user/UID`, and
/// every matching name in /dev/shm.
struct ViewRemoval {
    /// The number of view copies that were removed.
    private(set) var count = 0
    /// The places that could not be inspected.
    private(set) var unseen: [(name: String, reason: CofferError)]
    /// The view copies that are still there.
    private(set) var remaining: [(name: String, reason: CofferError)] = []

    /// The vaults whose view copies another step removes.
    private let others: [VaultID]

    /// Removes the view copies that belong to the vaults in `ids`. The vault's directory records where the
    /// vault created view copies; without that record, only the default places are searched.
    ///
    /// A view copy with another vault's id stays, because it may belong to that vault, or be one of this
    /// vault's copies with a changed lease. It is added to `unseen`, unless the id is one of `others`.
    init(of ids: [VaultID], vault: VaultHandle?, others: [VaultID] = []) {
        self.others = others
        let record = vault.map { ViewRootRecord(in: $0.directory) } ?? ViewRootRecord()
        let found = ViewCopyDirectory.existing(record, isForWiping: true)
        unseen = found.unseen
        for root in found.roots { removeViews(of: ids, in: root) }
    }

    private mutating func removeViews(of ids: [VaultID], in root: ViewCopyDirectory.Root) {
        let path = "\(root.directory.path)"
        do throws(CofferError) {
            for name in try root.directory.names() {
                let owner = try? ViewCopyDirectory.owner(of: name, in: root.directory)
                // The removal of a view copy without a lease was interrupted.
                let isLost =
                    owner == nil && ViewRootRecord.isView(name)
                    && (try? ViewCopyDirectory.isDead(name, in: root.directory)) == true
                guard isLost || owner.map({ ids.contains($0) }) == true else {
                    if ViewRootRecord.isView(name) { note("\(path)/\(name)", of: owner) }
                    continue
                }
                if let error = root.directory.removeAll(of: name, overwriting: true).first {
                    remaining.append((path, error))
                } else {
                    count += 1
                }
            }
        } catch {
            unseen.append((path, error))
        }
        ViewCopyDirectory.removeIfEmpty(root.directory)
    }

    private mutating func note(_ view: String, of owner: VaultID?) {
        guard let owner else {
            let error = CofferError(
                .corrupt, "The view's lease file does not say which vault the view belongs to.")
            return unseen.append((view, error))
        }
        guard !others.contains(owner) else { return }
        let error = CofferError(
            .foreign, "The view's lease file says that the view belongs to another vault, \(owner).")
        unseen.append((view, error))
    }
}
