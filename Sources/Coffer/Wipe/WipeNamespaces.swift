import CofferBase
import CofferEngine
import SystemPackage

/// The namespaces of users, homes of their own that go with the home around them.
extension Wiper {
    /// Writes every namespace's tombstone and destroys its keys.
    func destroyKeysOfNamespaces(reason: String) throws(CofferError) {
        for wiper in try namespaces() { try wiper.destroyOwnKeys(reason: reason) }
    }

    /// Erases every namespace, and what lies beside them.
    func wipeNamespaces(reason: String, _ removed: inout [String: Int]) throws(CofferError) {
        guard try home.directory.status(of: Home.usersName) != nil else { return }
        for wiper in try namespaces() {
            if try wiper.wipeIfAlive(reason: reason) { removed["namespaces", default: 0] += 1 }
        }
    }

    /// Its tombstone and its keys, where it has a vault.
    private func destroyOwnKeys(reason: String) throws(CofferError) {
        try home.exclusively { () throws(CofferError) in
            guard let state = try home.state(), state.word != .wiped,
                try home.directory.status(of: Home.vaultName) != nil
            else { return }
            try markWiped(.wiping, state.vaultID, reason: reason)
            _ = try destroyKeys(in: home.directory.open(Home.vaultName, [.read, .directory]))
        }
    }

    /// Wipes a namespace, unless it was wiped before; gives whether it did.
    private func wipeIfAlive(reason: String) throws(CofferError) -> Bool {
        try home.exclusively { () throws(CofferError) in
            guard let state = try home.state() else { return false }
            let isBegun = try isInterrupted()
            guard state.word != .wiped || isBegun else { return false }
            try markWiped(.wiping, state.vaultID, reason: reason)
            let scope = WipeScope.user("")
            _ = try finish(state.vaultID, reason: reason, scope: scope, completes: false)
            return true
        }
    }

    private func namespaces() throws(CofferError) -> [Wiper] {
        guard try home.directory.status(of: Home.usersName)?.kind == .directory else { return [] }
        let users = try home.directory.open(Home.usersName, [.read, .directory])
        var wipers: [Wiper] = []
        for name in try users.names() {
            let path = home.path.pushing(Home.usersName).pushing(name)
            let location = HomeLocation(path: path, sessionBus: home.service.address)
            guard try users.status(of: name)?.kind == .directory else { continue }
            let namespace = try Home.openDirectory(location)
            wipers.append(Wiper(home: namespace, time: time, orderDigest: orderDigest))
        }
        return wipers
    }
}
