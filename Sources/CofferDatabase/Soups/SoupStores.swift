public import Coffer
public import CofferBase

/// The stores of a vault by name: some that go with the user's login, some that outlast it.
///
/// ```swift
/// let stores = SoupStores(databases, policy: SoupStorePolicy(globalLogout: .keep))
/// let drafts = try await stores.store("drafts")
/// let settings = try await stores.store("settings", .global)
/// try await stores.apply(.logout)
/// ```
///
/// Each store is a database of its own. A store that was closed or destroyed throws `locked` from every call:
/// ask for it again.
public actor SoupStores {
    private let databases: any SoupDatabases
    private let time: VaultClock
    private var stores: [SoupStoreName: SoupStore] = [:]
    private var pendingOpens: [SoupStoreName: Task<Result<SoupStore, CofferError>, Never>] = [:]
    /// What was closed while it was being opened.
    private var closedEarly: Set<SoupStoreName> = []

    /// What happens to stores by themselves.
    public let policy: SoupStorePolicy

    /// The stores in `databases`.
    ///
    /// - Parameters:
    ///   - databases: Where they are.
    ///   - policy: What becomes of them when the user logs out.
    ///   - time: The clock that dates come from.
    public init(
        _ databases: any SoupDatabases, policy: SoupStorePolicy = SoupStorePolicy(),
        time: VaultClock = .system
    ) {
        self.databases = databases
        self.policy = policy
        self.time = time
    }

    /// A store, made when there is none. The same one each time while it is open.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 letters and digits of ASCII, dashes, dots and underlines.
    ///   - scope: Whose store it is.
    /// - Returns: The store.
    /// - Throws: `invalidInput` for a bad name; `locked` when the keys are not there, or go meanwhile.
    public func store(
        _ name: String = "default", _ scope: SoupStoreName.Scope = .user
    ) async throws(CofferError) -> SoupStore {
        let name = try SoupStoreName(name, scope)
        if let store = stores[name] { return store }
        // Whoever asks meanwhile gets the same one.
        let opening = pendingOpens[name] ?? Task { await make(name) }
        pendingOpens[name] = opening
        return try await opening.value.get()
    }

    private func make(_ name: SoupStoreName) async -> Result<SoupStore, CofferError> {
        defer {
            pendingOpens[name] = nil
            closedEarly.remove(name)
        }
        do throws(CofferError) {
            let store = try await SoupStore.open(on: databases.open(name), time: time)
            guard closedEarly.remove(name) == nil else {
                await store.end()
                throw CofferError(.locked, "The stores were closed.")
            }
            stores[name] = store
            return .success(store)
        } catch {
            return .failure(error)
        }
    }

    /// The names of the stores that there are, in order.
    public func names(_ scope: SoupStoreName.Scope = .user) async throws(CofferError) -> [String] {
        try await databases.names().filter { $0.scope == scope }.map(\.name).sorted()
    }

    /// Destroys a store; gives whether there was one.
    @discardableResult
    public func remove(
        _ name: String = "default", _ scope: SoupStoreName.Scope = .user
    ) async throws(CofferError) -> Bool {
        try await destroy(try SoupStoreName(name, scope))
    }

    /// Destroys all stores of a scope; gives how many there were. Goes on with the others when one cannot be
    /// destroyed, and then throws why.
    @discardableResult
    public func removeAll(_ scope: SoupStoreName.Scope = .user) async throws(CofferError) -> Int {
        var count = 0
        var failure: CofferError?
        for name in try await databases.names() where name.scope == scope {
            do throws(CofferError) {
                if try await destroy(name) { count += 1 }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return count
    }

    /// Does what the policy says about an event. Like ``removeAll(_:)``, goes on after an error.
    public func apply(_ event: SoupStorePolicy.Event) async throws(CofferError) {
        var failure: CofferError?
        for scope in SoupStoreName.Scope.allCases {
            switch policy.action(on: event, for: scope) {
            case .keep: continue
            case .lock: await closeAll(scope)
            case .wipe:
                await closeAll(scope)
                do throws(CofferError) { try await removeAll(scope) } catch { failure = failure ?? error }
            }
        }
        if let failure { throw failure }
    }

    /// Closes all stores.
    public func close() async { for scope in SoupStoreName.Scope.allCases { await closeAll(scope) } }

    private func closeAll(_ scope: SoupStoreName.Scope) async {
        for name in Array(stores.keys) + pendingOpens.keys where name.scope == scope { await close(name) }
    }

    private func close(_ name: SoupStoreName) async {
        if let opening = pendingOpens[name] {
            closedEarly.insert(name)
            _ = await opening.value
        }
        await stores.removeValue(forKey: name)?.end()
    }

    private func destroy(_ name: SoupStoreName) async throws(CofferError) -> Bool {
        await close(name)
        return try await databases.destroy(name)
    }
}

extension SoupStores: VaultObserver {
    /// Closes all stores.
    public func vaultDidWipe() async { await close() }
}
