import CofferBase
import CofferEngine
import CofferVault
import SystemPackage

/// Support for erasing the namespaces, which are separate vaults and are wiped with the vault that contains
/// them. A failure in one namespace does not stop the others from being erased.
extension VaultEraser {
    /// The time to wait for a namespace's lock while other namespaces are still to be wiped.
    private static let shortDeadline = Duration.seconds(1)

    /// Writes each namespace's tombstone, removes its keys from memory and destroys them on the disk. Returns
    /// the namespaces' vault ids, indexed by directory name.
    func destroyKeysOfNamespaces(
        reason: String, _ findings: inout WipeFindings
    ) -> [FilePath: [VaultID]] {
        // A namespace that cannot be opened is reported when its data is removed.
        let erasers = namespaceNames(&findings).compactMap { name in
            (try? inside(name)).map { (name: name, eraser: $0) }
        }
        // Removing keys from memory does not wait for a lock.
        for (_, eraser) in erasers { removeKeysFromMemory(of: WipeTarget(eraser.home).ids) }
        var known: [FilePath: [VaultID]] = [:]
        for (name, eraser) in erasers { known[name] = eraser.destroyOwnKeys(reason: reason, &findings) }
        return known
    }

    /// Erases every namespace, and reports directories beside the namespaces that are not vaults.
    func wipeNamespaces(
        _ known: [FilePath: [VaultID]], reason: String, _ findings: inout WipeFindings
    ) {
        for name in namespaceNames(&findings) {
            let displayName = "the namespace \(VaultDirectory.usersName)/\(name)"
            do throws(CofferError) {
                let eraser = try inside(name)
                guard let end = try eraser.wipeIfAlive(known[name] ?? [], reason: reason) else {
                    eraser.noteNonVault(displayName, &findings)
                    continue
                }
                let seen = Set(findings.unverified)
                findings.unverified += end.receipt.unverified.filter { !seen.contains($0) }
                guard let error = end.failure else {
                    findings.count("namespaces")
                    continue
                }
                let failures = end.receipt.failures.joined(separator: " ")
                findings.note(
                    displayName,
                    remainsBecause: CofferError(
                        error.code, failures, remedy: error.remedy, systemError: error.systemError))
            } catch {
                findings.note(displayName, remainsBecause: error)
            }
        }
        noteLinks(&findings)
    }

    /// Reports links where namespaces are expected; links are never followed.
    private func noteLinks(_ findings: inout WipeFindings) {
        if (try? home.directory.status(of: VaultDirectory.usersName))?.kind == .symbolicLink {
            findings.note(
                "the users' namespaces",
                remainsBecause: CofferError(
                    .refused,
                    "\(home.path.pushing(VaultDirectory.usersName)) was not erased because it is a link."))
        }
        guard let users = try? home.directory.openClosed(VaultDirectory.usersName),
            let names = try? users.names()
        else { return }
        for name in names where (try? users.status(of: name))?.kind == .symbolicLink {
            findings.unverified.append(
                "the target of \(VaultDirectory.usersName)/\(name), a link that was not followed")
        }
    }

    /// Returns the names of directories that may be namespaces.
    func namespaceNames(_ findings: inout WipeFindings) -> [FilePath] {
        guard (try? home.directory.status(of: VaultDirectory.usersName))?.kind == .directory else {
            return []
        }
        do throws(CofferError) {
            let users = try home.directory.openClosed(VaultDirectory.usersName)
            return try users.names().filter { (try? users.status(of: $0))?.kind == .directory }
        } catch {
            findings.note("the users' namespaces", remainsBecause: error)
            return []
        }
    }

    /// Returns the directory that contains a user's vault, so that it can be erased. If the state cannot be
    /// read, uses the vault ids that other files contain.
    func namespace(of user: String) throws(CofferError) -> VaultDirectory {
        let own = home.location(at: home.path)
        guard own.parentVault == nil else {
            throw CofferError(.refused, "A user's namespace cannot contain other namespaces.")
        }
        let target = WipeTarget(home)
        if let state = target.state {
            guard state.isAlive, home.belongsToThisVault(state) else { throw CofferError.wiped }
        }
        var missing = target.damage ?? VaultDirectory.missing(home.path)
        for vaultID in target.ids {
            let path = try own.namespace(of: user, in: vaultID).path
            guard let name = path.lastComponent else { continue }
            do throws(CofferError) {
                return try home.namespaceForWiping(FilePath(root: nil, [name]))
            } catch {
                guard error.code == .absent else { throw error }
                guard target.damage == nil else { continue }
                missing = CofferError(
                    .notInitialised,
                    "Nothing was erased because no user with this name has a vault in \(home.path). Check "
                        + "the spelling of the name.")
            }
        }
        throw missing
    }

    /// Reports a directory among the namespaces that shows no sign of a vault, because its keys in the kernel
    /// keyring cannot be identified. A namespace that was already wiped is not reported.
    private func noteNonVault(_ name: String, _ findings: inout WipeFindings) {
        let target = WipeTarget(home)
        guard target.state?.phase != .wiped else { return }
        let unknown = "the directory shows no sign of a vault, so its keys in the kernel keyring are unknown"
        guard let status = try? home.directory.status(of: VaultDirectory.vaultName) else {
            return findings.unverified.append("\(name): \(unknown)")
        }
        let vault = home.path.pushing(VaultDirectory.vaultName)
        let reason =
            status.kind == .symbolicLink
            ? "\(vault) is a link, and the target of the link was not changed; \(unknown)."
            : "\(vault) was not changed; \(unknown)."
        findings.note(name, remainsBecause: target.damage ?? CofferError(.refused, reason))
    }

    private func inside(_ name: FilePath) throws(CofferError) -> VaultEraser {
        VaultEraser(home: try home.namespaceForWiping(name), clock: clock, orderDigest: orderDigest)
    }

    /// Writes the tombstone and destroys the keys if there is a vault; returns the candidates for the vault's
    /// id.
    private func destroyOwnKeys(reason: String, _ findings: inout WipeFindings) -> [VaultID] {
        let ids = try? home.insisting(within: Self.shortDeadline) { (_) throws(CofferError) in
            let target = WipeTarget(home)
            guard target.isVault, target.state?.phase != .wiped else { return target.ids }
            // If the tombstone cannot be written, that of the vault that contains the namespace covers it.
            try? writeTombstone(.wiping, target.ids.first ?? .unknown, reason: reason)
            removeKeysFromMemory(of: target.ids)
            var own = WipeFindings()
            destroyKeys(&own)
            findings.unverified += own.unverified
            return target.ids
        }
        return ids ?? []
    }

    /// Wipes a namespace; returns `nil` if it was already wiped or is not a vault.
    private func wipeIfAlive(_ known: [VaultID], reason: String) throws(CofferError) -> WipeEnd? {
        try home.insisting(within: Self.shortDeadline) { (_) throws(CofferError) in
            let target = WipeTarget(home)
            let hasVault = try home.directory.status(of: VaultDirectory.vaultName) != nil
            guard target.isVault || !known.isEmpty, target.state?.phase != .wiped || hasVault else {
                return nil
            }
            let ids = known + target.ids.filter { !known.contains($0) }
            try? writeTombstone(.wiping, ids.first ?? .unknown, reason: reason)
            return finish(ids, reason: reason, scope: .user(""), completes: false)
        }
    }
}
