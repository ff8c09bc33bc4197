public import Coffer
public import CofferBase
import CofferEngine

/// An actor that opens, closes and destroys a vault's stores by name.
///
/// User stores belong to the logged-in user; by default, a logout wipes them. Global stores are shared; by
/// default, a logout only closes them.
///
/// ```swift
/// let stores = SoupStores(databases, policy: SoupStorePolicy(globalLogout: .keep))
/// let drafts = try await stores.store("drafts")
/// let settings = try await stores.store("settings", .global)
/// try await stores.apply(.logout)
/// ```
///
/// Each store is a separate database. Every call to a store that was closed or destroyed throws `locked`; get
/// the store again.
public actor SoupStores {
    private let databases: any SoupDatabases
    private let clock: VaultClock
    private var stores: [SoupStoreName: SoupStore] = [:]
    private var pendingOpens: [SoupStoreName: Task<Result<SoupStore, CofferError>, Never>] = [:]
    /// The stores to close as soon as they are open, because they were closed while they were being opened.
    private var closedEarly: Set<SoupStoreName> = []

    /// The policy that determines how events affect the stores.
    public let policy: SoupStorePolicy

    /// Creates an actor that manages the stores in `databases`.
    ///
    /// - Parameters:
    ///   - databases: The databases that hold the stores.
    ///   - policy: The policy that determines how events such as a logout affect the stores.
    ///   - clock: The clock that supplies dates.
    public init(
        _ databases: any SoupDatabases, policy: SoupStorePolicy = SoupStorePolicy(),
        clock: VaultClock = .system
    ) {
        self.databases = databases
        self.policy = policy
        self.clock = clock
    }

    /// Opens a store, creating it if necessary. While the store is open, further calls return the same store.
    ///
    /// - Parameters:
    ///   - name: The store's name: 1 to 64 ASCII letters, digits, dashes, dots and underscores, not beginning
    ///     with a dot.
    ///   - scope: The store's owner.
    /// - Returns: The open store.
    /// - Throws: `invalidInput` if the name does not have this form; `locked` if the keys are not available,
    ///   or are evicted while the store is being opened.
    public func store(
        _ name: String = "default", _ scope: SoupStoreName.Scope = .user
    ) async throws(CofferError) -> SoupStore {
        let name = try SoupStoreName(name, scope)
        if let store = stores[name] { return store }
        // Callers that ask in the meantime get the same store.
        let opening =
            pendingOpens[name] ?? Task(executorPreference: MainExecutor.current) { await self.make(name) }
        pendingOpens[name] = opening
        return try await opening.value.get()
    }

    private func make(_ name: SoupStoreName) async -> Result<SoupStore, CofferError> {
        defer {
            pendingOpens[name] = nil
            closedEarly.remove(name)
        }
        do throws(CofferError) {
            let store = try await SoupStore.open(on: databases.open(name), clock: clock)
            guard closedEarly.remove(name) == nil else {
                await store.end()
                throw CofferError(
                    .locked, "All stores were closed while the store was being opened. Get the store again.")
            }
            stores[name] = store
            return .success(store)
        } catch {
            return .failure(error)
        }
    }

    /// Returns the sorted names of the existing stores in a scope.
    public func names(_ scope: SoupStoreName.Scope = .user) async throws(CofferError) -> [String] {
        try await databases.names().filter { $0.scope == scope }.map(\.name).sorted()
    }

    /// Destroys a store. Returns whether the store existed.
    @discardableResult
    public func remove(
        _ name: String = "default", _ scope: SoupStoreName.Scope = .user
    ) async throws(CofferError) -> Bool {
        try await destroy(try SoupStoreName(name, scope))
    }

    /// Destroys all stores in a scope and returns the number of destroyed stores. If a store cannot be
    /// destroyed, the method continues with the others and then throws the error.
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

    /// Closes or destroys stores as the policy requires for an event. Like ``removeAll(_:)``, the method
    /// continues with the other stores after an error.
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
