import CofferBase
import CofferEngine
import SystemPackage

/// The namespaces of users, homes of their own that go with the home around them. One that cannot be erased
/// keeps none of the others.
extension VaultEraser {
    /// How long a namespace's lock is waited for, where others wait for their turn.
    private static let shortDeadline = Duration.seconds(1)

    /// Writes every namespace's tombstone, drops its keys from memory and destroys them; returns the vaults'
    /// ids by the names of the directories.
    func destroyKeysOfNamespaces(
        reason: String, _ findings: inout WipeFindings
    ) -> [FilePath: [VaultID]] {
        // A namespace that cannot be opened is reported when its data is to go.
        let wipers = namespaceNames(&findings).compactMap { name in
            (try? inside(name)).map { (name: name, wiper: $0) }
        }
        // What is in memory waits for nobody's lock.
        for (_, wiper) in wipers { forget(WipeTarget(wiper.home).ids) }
        var known: [FilePath: [VaultID]] = [:]
        for (name, wiper) in wipers { known[name] = wiper.destroyOwnKeys(reason: reason, &findings) }
        return known
    }

    /// Erases every namespace, and what lies beside them.
    func wipeNamespaces(
        _ known: [FilePath: [VaultID]], reason: String, _ findings: inout WipeFindings
    ) {
        for name in namespaceNames(&findings) {
            let what = "the namespace \(VaultDirectory.usersName)/\(name)"
            do throws(CofferError) {
                let wiper = try inside(name)
                guard let end = try wiper.wipeIfAlive(known[name] ?? [], reason: reason) else {
                    wiper.noteWhatIsNoVault(what, &findings)
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
                    what,
                    remainsBecause: CofferError(error.code, failures, systemError: error.systemError))
            } catch {
                findings.note(what, remainsBecause: error)
            }
        }
        noteLinks(&findings)
    }

    /// Names the links where namespaces may be: nobody follows them.
    private func noteLinks(_ findings: inout WipeFindings) {
        if (try? home.directory.status(of: VaultDirectory.usersName))?.kind == .symbolicLink {
            findings.note(
                "the users' namespaces",
                remainsBecause: CofferError(
                    .refused, "\(home.path.pushing(VaultDirectory.usersName)) is a link: not touched."))
        }
        guard let users = try? home.directory.openClosed(VaultDirectory.usersName),
            let names = try? users.names()
        else { return }
        for name in names where (try? users.status(of: name))?.kind == .symbolicLink {
            findings.unverified.append(
                "what \(VaultDirectory.usersName)/\(name) points to: it is a link, which is not followed")
        }
    }

    /// The directories that may be namespaces.
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

    /// The home of a user's namespace, for erasing it. Where the state cannot be read, by what else tells the
    /// vault's id.
    func namespace(of user: String) throws(CofferError) -> VaultDirectory {
        let own = VaultLocation(path: home.path, sessionBus: home.service.address)
        guard own.parentVault == nil else {
            throw CofferError(.refused, "A user's namespace has no namespaces of its own.")
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
                    "No user of that name has a vault in \(home.path): nothing was erased. Spell the name as "
                        + "when the vault was made.")
            }
        }
        throw missing
    }

    /// Names a directory among the namespaces that shows no vault, unless it was wiped before: nobody can
    /// tell whose keys are in the kernel keyring.
    private func noteWhatIsNoVault(_ what: String, _ findings: inout WipeFindings) {
        let target = WipeTarget(home)
        guard target.state?.phase != .wiped else { return }
        let unknown = "it shows no vault, so its keys in the kernel keyring have no name"
        guard let status = try? home.directory.status(of: VaultDirectory.vaultName) else {
            return findings.unverified.append("\(what): \(unknown)")
        }
        let vault = home.path.pushing(VaultDirectory.vaultName)
        let reason =
            status.kind == .symbolicLink
            ? "\(vault) is a link, and what it points to was not touched; \(unknown)."
            : "\(vault) was not touched; \(unknown)."
        findings.note(what, remainsBecause: target.damage ?? CofferError(.refused, reason))
    }

    private func inside(_ name: FilePath) throws(CofferError) -> VaultEraser {
        VaultEraser(home: try home.namespaceForWiping(name), time: time, orderDigest: orderDigest)
    }

    /// Writes its tombstone and destroys its keys, where it has a vault; returns what may be the vault's ids.
    private func destroyOwnKeys(reason: String, _ findings: inout WipeFindings) -> [VaultID] {
        let ids = try? home.insisting(within: Self.shortDeadline) { (_) throws(CofferError) in
            let target = WipeTarget(home)
            guard target.isVault, target.state?.phase != .wiped else { return target.ids }
            // Where there is no place for the mark, that of the home around it stands for it.
            try? writeTombstone(.wiping, target.ids.first ?? .unknown, reason: reason)
            forget(target.ids)
            var own = WipeFindings()
            destroyKeys(&own)
            findings.unverified += own.unverified
            return target.ids
        }
        return ids ?? []
    }

    /// Wipes a namespace, unless it was wiped before.
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
