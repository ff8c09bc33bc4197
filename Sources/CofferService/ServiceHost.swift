package import Coffer
import CofferBase
package import CofferDBus
import CofferEngine

/// The objects of the Secret Service and their state: collections and items over a vault's tokens, sessions,
/// aliases and prompts.
///
/// Calls are handled one after the other, in order of arrival. An answer is sent only after what it
/// acknowledges is on the disk.
package actor ServiceHost {
    /// How a locked vault is unlocked for a caller.
    package enum Interaction: String, Sendable, CaseIterable {
        /// Prompts end at once, as if the user had dismissed them.
        case never
        /// Prompts wait until another program caches the vault's keys in the kernel keyring.
        case terminal
    }

    /// The collections that every vault has until someone deletes them.
    static let standardCollection = "login"
    static let volatileCollection = "session"

    let vault: Vault
    let hasher: Vault.PairHasher
    let bus: any ServiceBus
    let interaction: Interaction
    /// Tells the user something about the service.
    let tell: @Sendable (String) -> Void

    var collections: [String: ServedCollection] = [:]
    var aliases: [String: String] = [:]
    var items: [ItemKey: ServedItem] = [:]
    /// The items of each collection, in order of creation.
    var members: [String: [String]] = [:]
    /// The items that have an attribute.
    var index: [PairHash: Set<ItemKey>] = [:]
    var sessions = SessionTable()
    var prompts: [Int: ServicePrompt] = [:]
    var lastPrompt = 0

    /// Whether the collections on the disk are unlocked, as callers were last told.
    var isUnlocked = false
    /// Whether the vault was wiped: nothing is left.
    package internal(set) var isWiped = false
    /// The time since boot at which cached keys were last looked for.
    var lastRestore = Duration.zero
    /// The number of the token file's last change that the objects show.
    var knownGeneration: UInt64?
    /// The time since boot at which other programs' changes were last looked for.
    var lastLook = Duration.zero
    /// The time since boot of the first change that the index on the disk lacks; `nil` if it lacks none.
    var staleSince: Duration?
    /// The signals that follow the answer to the present call.
    var pendingSignals: [@Sendable () -> Void] = []

    /// Creates the objects of a vault, which stays as locked or unlocked as it is.
    ///
    /// - Parameters:
    ///   - vault: The vault.
    ///   - bus: Where signals go.
    ///   - interaction: How a locked vault is unlocked for a caller.
    ///   - tell: A closure that is called with sentences for the user.
    /// - Throws: `wiped`.
    package init(
        _ vault: Vault, bus: any ServiceBus, interaction: Interaction,
        tell: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(CofferError) {
        self.vault = vault
        self.bus = bus
        self.interaction = interaction
        self.tell = tell
        hasher = try vault.pairHasher()
    }

    /// Reads the collections and items, or as much of them as a locked vault shows.
    ///
    /// - Throws: The vault's errors but `locked`.
    package func start() async throws(CofferError) {
        if vault.isUnlocked {
            try await load()
            isUnlocked = true
        } else {
            try await loadIndex()
        }
    }

    /// Handles a call and answers it.
    package func handle(_ call: ServedCall) async {
        await noteVault()
        // What another program changed must not be undone by what is kept here.
        if Self.changing.contains(call.member) { await noteOthersChanges() }
        do throws(ServiceError) {
            call.answer(try await result(of: call))
        } catch {
            call.refuse(error.name, error.text)
        }
        let signals = pendingSignals
        pendingSignals = []
        for signal in signals { signal() }
    }

    /// Forgets the sessions and prompts of a connection that has left the bus.
    package func forget(_ owner: String) {
        sessions.closeAll(of: owner)
        prompts = prompts.filter { !$0.value.owner.hasSameBytes(as: owner) }
    }

    /// Does what is due by time: notices a lock, an unlock and other programs' changes, ends prompts, and
    /// writes the index.
    package func tick() async {
        await noteVault()
        let now = Clock.sinceBoot
        if now - lastLook >= .seconds(1) {
            lastLook = now
            await noteOthersChanges()
        }
        for (number, prompt) in prompts where prompt.end <= now { complete(number, nil) }
        if let stale = staleSince, now - stale >= .milliseconds(500) { await writeIndex() }
    }

    /// Writes what is not on the disk yet.
    package func finish() async {
        if staleSince != nil { await writeIndex() }
    }

    // MARK: Calls

    /// The methods that change something on the disk.
    private static let changing: Set = [
        "CreateItem", "SetSecret", "Delete", "Set", "CreateCollection", "SetAlias",
    ]

    private func result(of call: ServedCall) async throws(ServiceError) -> [BusContent] {
        guard let object = ServedObject(call.path, aliases: aliases) else {
            throw .noSuchObject
        }
        let named = object.interfaces.filter {
            call.interface.isEmpty || $0.name.hasSameBytes(as: call.interface)
        }
        guard let interface = named.first(where: { $0.method(call.member) != nil }),
            let method = interface.method(call.member)
        else {
            if named.isEmpty { throw .unknownInterface }
            throw .unknownMethod
        }
        guard call.signature.hasSameBytes(as: method.input.joined()) else {
            throw .invalid("\(method.name) takes arguments of the types (\(method.input.joined())).")
        }
        try checkExists(object)
        switch interface.name {
        case ServiceName.service: return try await callService(call)
        case ServiceName.collection:
            guard case .collection(let id) = object else { throw .unknownMethod }
            return try await callCollection(id, call)
        case ServiceName.item:
            guard case .item(let key) = object else { throw .unknownMethod }
            return try await callItem(key, call)
        case ServiceName.session:
            guard case .session(let number) = object else { throw .unknownMethod }
            try sessions.close(number, owner: call.sender)
            return []
        case ServiceName.prompt:
            guard case .prompt(let number) = object else { throw .unknownMethod }
            return try await callPrompt(number, call)
        case ServiceName.properties: return try await callProperties(object, call)
        case ServiceName.introspectable: return [.text(introspection(of: object, call.path))]
        default: return []
        }
    }

    func checkExists(_ object: ServedObject) throws(ServiceError) {
        let exists =
            switch object {
            case .service, .folder: true
            case .collection(let id): collections[id] != nil
            case .item(let key): items[key] != nil
            case .session(let number): sessions.numbers.contains(number)
            case .prompt(let number): prompts[number] != nil
            }
        guard exists else { throw .noSuchObject }
    }

    private func introspection(of object: ServedObject, _ path: String) -> String {
        let children: [String]
        switch object {
        case .service: children = ["aliases", "collection", "prompt", "session"]
        case .collection(let id): children = members[id] ?? []
        case .folder:
            let last = path.utf8.split(separator: UInt8(ascii: "/")).last.map { Array($0) } ?? []
            switch String(decoding: last, as: UTF8.self) {
            case "aliases": children = aliases.keys.sorted()
            case "collection": children = collections.keys.sorted()
            case "session": children = sessions.numbers.map { "s\($0)" }
            case "org": children = ["freedesktop"]
            case "freedesktop": children = ["secrets"]
            default: children = path.utf8.count == 1 ? ["org"] : []
            }
        default: children = []
        }
        return ServedInterface.introspection(object.interfaces, children: children)
    }
}

extension ServedInterface {
    func method(_ name: String) -> Method? { methods.first { $0.name.hasSameBytes(as: name) } }
}
