import CofferBase
import CofferEngine
import CofferVault
import SystemPackage

/// Support for erasing one account's data.
extension VaultCore {
    /// Erases all of an account's tokens, and the namespace with the account's name, even if this vault is
    /// that namespace. This function can be called while the vault is locked, and may be repeated.
    func wipe(_ account: TokenAccount, reason: String) throws(CofferError) -> WipedAccount {
        let tokens = try removeTokens(of: account)
        return WipedAccount(
            account: account, tokens: tokens, namespace: try wipeNamespace(of: account, reason: reason))
    }

    private func removeTokens(of account: TokenAccount) throws(CofferError) -> Int {
        let key = try device.nameKey()
        return try home.withExclusiveVault { (vault) throws(CofferError) in
            var count = 0
            for kind in TokenKind.allCases {
                let id = try TokenID(service: account.service, account: account.account, kind: kind)
                if try removeToken(id.keyedHash(key.key), in: vault) { count += 1 }
            }
            return count
        }
    }

    /// Removes a token, even a pending or unconfirmed one; returns whether there was one.
    private func removeToken(
        _ name: [UInt8], in vault: borrowing Descriptor
    ) throws(CofferError) -> Bool {
        let waiting =
            try entries(.pending, of: name, in: vault) + entries(.unconfirmed, of: name, in: vault)
        try pendingTokens.remove(waiting, in: vault)
        var isFound = !waiting.isEmpty
        if try storage.envelope(name) != nil {
            try storage.remove(name)
            isFound = true
        }
        if try ephemeralTokens.envelope(name) != nil {
            try ephemeralTokens.remove(name)
            isFound = true
        }
        return isFound
    }

    /// Wipes the namespace with the account's name; returns `nil` if there is none or it was already wiped.
    private func wipeNamespace(
        of account: TokenAccount, reason: String
    ) throws(CofferError) -> WipeReceipt? {
        let own = home.location(at: home.path)
        guard !account.account.isEmpty else { return nil }
        if let parentVault = own.parentVault {
            guard try isNamespace(of: account.account, in: parentVault) else { return nil }
            return try VaultEraser(home: home, clock: clock).wipe(.all, reason: reason, by: self)
        }
        do throws(CofferError) {
            return try VaultEraser(home: home, clock: clock).wipe(
                .user(account.account), reason: reason, by: nil)
        } catch {
            // The state shows whether this vault itself was wiped.
            guard [.notInitialised, .wiped].contains(error.code), try home.state()?.isAlive == true else {
                throw error
            }
            return nil
        }
    }

    /// Returns whether this vault is `user`'s namespace. An invalid user name has no namespace.
    private func isNamespace(of user: String, in parentVault: VaultLocation) throws(CofferError) -> Bool {
        guard let state = try VaultDirectory.openDirectory(parentVault).state(),
            let location = try? parentVault.namespace(of: user, in: state.vaultID)
        else { return false }
        return location.path.lastComponent == home.path.lastComponent
    }
}
