import CofferBase
import CofferEngine
import SystemPackage

/// Erasing what one account has.
extension SessionCore {
    /// Erases every token of an account, and the namespace that bears the account's name, also when this
    /// vault is that namespace. Works while locked, and may be repeated.
    func wipe(_ account: TokenAccount, reason: String) throws(CofferError) -> WipedAccount {
        let tokens = try removeTokens(of: account)
        return WipedAccount(
            account: account, tokens: tokens, namespace: try wipeNamespace(of: account, reason: reason))
    }

    private func removeTokens(of account: TokenAccount) throws(CofferError) -> Int {
        let key = try device.nameKey()
        return try home.changingVault { (vault) throws(CofferError) in
            var count = 0
            for kind in TokenKind.allCases {
                let id = try TokenID(service: account.service, account: account.account, kind: kind)
                if try removeToken(id.keyedHash(key.key), in: vault) { count += 1 }
            }
            return count
        }
    }

    /// Removes a token, also one that waits for an unlock or to be accepted; returns whether there was one.
    private func removeToken(
        _ name: [UInt8], in vault: borrowing Descriptor
    ) throws(CofferError) -> Bool {
        let waiting =
            try entries(.waiting, of: name, in: vault) + entries(.unconfirmed, of: name, in: vault)
        try inbox.remove(waiting, in: vault)
        var isFound = !waiting.isEmpty
        if try keyring.envelope(name) != nil {
            try keyring.remove(name)
            isFound = true
        }
        if try volatileTokens.envelope(name) != nil {
            try volatileTokens.remove(name)
            isFound = true
        }
        return isFound
    }

    /// `nil` where there is none, or it was wiped before.
    private func wipeNamespace(
        of account: TokenAccount, reason: String
    ) throws(CofferError) -> WipeReceipt? {
        let own = HomeLocation(path: home.path, sessionBus: home.service.address)
        guard !account.account.isEmpty else { return nil }
        if let enclosing = own.enclosing {
            guard try isNamespace(of: account.account, in: enclosing) else { return nil }
            return try Wiper(home: home, time: time).wipe(.all, reason: reason, by: self)
        }
        do throws(CofferError) {
            return try Wiper(home: home, time: time).wipe(
                .user(account.account), reason: reason, by: nil)
        } catch {
            // A vault that was wiped itself shows by its state.
            guard [.notInitialised, .wiped].contains(error.code), try home.state()?.isAlive == true else {
                throw error
            }
            return nil
        }
    }

    /// Whether this vault is the namespace of a user. Names that no user may have are nobody's.
    private func isNamespace(of user: String, in enclosing: HomeLocation) throws(CofferError) -> Bool {
        guard let state = try Home.openDirectory(enclosing).state(),
            let location = try? enclosing.namespace(of: user, in: state.vaultID)
        else { return false }
        return location.path.lastComponent == home.path.lastComponent
    }
}
