package import CofferBase
import CofferDBus
import CofferEngine
import Synchronization

/// A client of one Secret Service, with its own connection. Calls block, and every call has a deadline.
///
/// The client addresses the service by the unique name that the service had when the connection was made. If
/// the service is replaced, a call fails before it has any effect, and the client repeats it once on a new
/// connection.
package final class SecretServiceClient: Sendable {
    /// The time limit for one storage operation.
    package static let deadline = Duration.seconds(10)
    /// The time limit for the user to answer a prompt.
    package static let promptDeadline = Duration.seconds(120)

    private static let servicePath = "/org/freedesktop/secrets"
    private static let service = "org.freedesktop.Secret.Service"
    private static let collection = "org.freedesktop.Secret.Collection"
    private static let item = "org.freedesktop.Secret.Item"
    private static let prompt = "org.freedesktop.Secret.Prompt"
    private static let properties = "org.freedesktop.DBus.Properties"
    private static let prompter = "org.gnome.keyring.SystemPrompter"
    /// The path that represents the absence of an object.
    private static let nullObjectPath = "/"

    private struct Link: Sendable {
        let bus: MessageBus
        /// The service's unique name.
        let owner: String
        let session: String
    }

    /// The bus address; `nil` for the session bus.
    package let address: String?
    private let interaction: PromptPolicy
    private let link = Mutex<Link?>(nil)

    private let limit: Duration
    private let promptLimit: Duration

    /// Creates a client of the service on the bus at `address`, or on the session bus if `address` is `nil`.
    /// The time limits are `limit` for one operation and `promptLimit` for a prompt.
    package init(
        address: String?, interaction: PromptPolicy = .never,
        limit: Duration = SecretServiceClient.deadline,
        promptLimit: Duration = SecretServiceClient.promptDeadline
    ) {
        self.address = address
        self.interaction = interaction
        self.limit = limit
        self.promptLimit = promptLimit
    }

    /// Returns the deadline for an operation that starts now.
    package func deadline() -> Deadline { Deadline(limit) }

    // MARK: Items

    /// Returns the paths of the items that have at least these attributes.
    package func search(
        _ attributes: [String: String], _ deadline: Deadline
    ) throws(CofferError) -> (unlocked: [String], locked: [String]) {
        let reply = try call(Self.servicePath, Self.service, "SearchItems", [.strings(attributes)], deadline)
        guard reply.count == 2, let unlocked = reply[0].paths, let locked = reply[1].paths else {
            throw Self.unexpectedReply("SearchItems")
        }
        return (unlocked, locked)
    }

    /// Returns an item's attributes; `nil` if there is no item at that path.
    package func attributes(of path: String, _ deadline: Deadline) throws(CofferError) -> [String: String]? {
        try ifPresent { () throws(CofferError) in
            try property("Attributes", of: path, Self.item, deadline)?.strings
        }
    }

    /// Returns an item's secret; `nil` if there is no item at that path.
    package func secret(of path: String, _ deadline: Deadline) throws(CofferError) -> [UInt8]? {
        try ifPresent { () throws(CofferError) in
            let reply = try call(path, Self.item, "GetSecret", deadline) { [.path($0)] }
            return Self.value(reply.first)
        }
    }

    /// Returns the secrets of several items by path, omitting items that no longer exist.
    package func secrets(of paths: [String], _ deadline: Deadline) throws(CofferError) -> [String: [UInt8]] {
        let reply = try call(Self.servicePath, Self.service, "GetSecrets", deadline) {
            [.paths(paths), .path($0)]
        }
        guard let secrets = reply.first?.byPath else { throw Self.unexpectedReply("GetSecrets") }
        return secrets.compactMapValues(Self.value)
    }

    /// Replaces an item's secret; returns `false` if there is no item at that path.
    package func replace(
        _ path: String, by secret: [UInt8], _ deadline: Deadline
    ) throws(CofferError) -> Bool {
        try ifPresent { () throws(CofferError) in
            _ = try call(path, Self.item, "SetSecret", deadline) { [Self.structure(secret, session: $0)] }
            return true
        } ?? false
    }

    /// Creates an item in the default collection.
    package func create(
        label: String, _ attributes: [String: String], secret: [UInt8], _ deadline: Deadline
    ) throws(CofferError) {
        let collection = try defaultCollection(deadline)
        let properties: [String: BusValue] = [
            Self.item + ".Label": .text(label), Self.item + ".Attributes": .strings(attributes),
        ]
        let reply = try unlocking(collection, deadline) { () throws(CofferError) in
            try call(collection, Self.collection, "CreateItem", deadline) {
                [.properties(properties), Self.structure(secret, session: $0), .flag(false)]
            }
        }
        guard reply.count == 2, let prompt = reply[1].text else { throw Self.unexpectedReply("CreateItem") }
        try completePrompt(prompt, deadline)
    }

    /// Deletes an item. Deleting an item that does not exist has no effect.
    package func delete(_ path: String, _ deadline: Deadline) throws(CofferError) {
        let reply = try ifPresent { () throws(CofferError) in
            try call(path, Self.item, "Delete", [], deadline)
        }
        if let prompt = reply?.first?.text { try completePrompt(prompt, deadline) }
    }

    // MARK: Collections

    /// Returns the path to the default collection, for new items. The client never creates a collection and
    /// never changes which collection is the default.
    package func defaultCollection(_ deadline: Deadline) throws(CofferError) -> String {
        let reply = try call(Self.servicePath, Self.service, "ReadAlias", [.text("default")], deadline)
        guard let path = reply.first?.text, path != Self.nullObjectPath else {
            throw CofferError(
                .noDefaultCollection,
                "The Secret Service has no default collection. Create a default collection on the desktop.")
        }
        return path
    }

    /// Returns whether a collection is locked.
    package func isLocked(_ path: String, _ deadline: Deadline) throws(CofferError) -> Bool {
        try property("Locked", of: path, Self.collection, deadline)?.flag ?? false
    }

    /// Unlocks the default collection if it is locked, because a locked collection can hide an item from a
    /// search. Throws if the collection cannot be unlocked.
    package func requireReadable(_ deadline: Deadline) throws(CofferError) {
        let collection = try defaultCollection(deadline)
        if try isLocked(collection, deadline) { try unlock([collection], deadline) }
    }

    /// Unlocks collections or items by prompting the user if the policy allows prompts; otherwise throws
    /// `keyringLocked`.
    ///
    /// A collection without a password is locked whenever the service starts, but any program can unlock it
    /// without a prompt. Its lock protects nothing, so the client unlocks the collection regardless of the
    /// policy.
    package func unlock(_ paths: [String], _ deadline: Deadline) throws(CofferError) {
        if interaction != .allowed {
            let collection = try SecretCollection.inspect(self, deadline)
            let isInside = paths.allSatisfy {
                $0.hasSameBytes(as: collection.path) || $0.utf8.hasPrefix(collection.path + "/")
            }
            guard collection.storage == .plainText, isInside else { throw Self.locked }
        }
        let reply = try call(Self.servicePath, Self.service, "Unlock", [.paths(paths)], deadline)
        guard reply.count == 2, let prompt = reply[1].text else { throw Self.unexpectedReply("Unlock") }
        try completePrompt(prompt, deadline)
    }

    /// Returns the service's process ID; `nil` if the bus does not provide the ID.
    package func serviceProcess(_ deadline: Deadline) throws(CofferError) -> UInt32? {
        let link = try current(deadline).link
        let answer = try link.bus.callBus(
            "GetConnectionUnixProcessID", [.text(link.owner)], deadline: deadline.remaining)
        return answer?.number
    }

    // MARK: Prompts

    /// Lets the service show the prompt at the path `prompt`, if there is one. Throws `keyringLocked` if the
    /// policy does not allow prompts.
    private func completePrompt(_ prompt: String, _ deadline: Deadline) throws(CofferError) {
        guard prompt != Self.nullObjectPath else { return }
        guard interaction == .allowed else { throw Self.locked }
        try deadline.pausing { () throws(CofferError) in try runPrompt(prompt) }
    }

    private func runPrompt(_ prompt: String) throws(CofferError) {
        let deadline = Deadline(promptLimit)
        let link = try current(deadline).link
        // gnome-keyring prompts through another program. Without that program, it reports that the user
        // dismissed the prompt.
        let isAlone = try link.bus.callBus(
            "NameHasOwner", [.text("org.gnome.keyring")], deadline: deadline.remaining)
        let isThere = try link.bus.callBus(
            "NameHasOwner", [.text(Self.prompter)], deadline: deadline.remaining)
        let answer: (values: [BusValue], appeared: Bool)
        do throws(CofferError) {
            answer = try link.bus.call(
                BusMember(link.owner, prompt, Self.prompt, "Prompt"), [.text("")],
                awaiting: "Completed", watching: Self.prompter, deadline: deadline.remaining)
        } catch {
            // Dismiss a prompt that this client no longer waits for, if the service still responds.
            if error.code == .timedOut {
                _ = try? link.bus.call(
                    BusMember(link.owner, prompt, Self.prompt, "Dismiss"), deadline: .seconds(1))
            }
            throw error
        }
        guard answer.values.first?.flag == true else { return }
        guard isAlone?.flag != true || isThere?.flag == true || answer.appeared else {
            throw CofferError(
                .noPrompter,
                "The desktop keyring is locked, and no program is available to prompt for its "
                    + "password. Unlock the keyring on the desktop, then try again.")
        }
        throw CofferError(.promptDismissed, "The prompt for the keyring's password was dismissed.")
    }

    /// Runs `body`. If `body` fails because `path` is locked, unlocks `path` and runs `body` a second time.
    private func unlocking<Result>(
        _ path: String, _ deadline: Deadline, _ body: () throws(CofferError) -> Result
    ) throws(CofferError) -> Result {
        do throws(CofferError) {
            return try body()
        } catch {
            guard error.code == .keyringLocked else { throw error }
            try unlock([path], deadline)
            return try body()
        }
    }

    // MARK: Calls

    private func call(
        _ path: String, _ interface: String, _ method: String, _ arguments: [BusValue], _ deadline: Deadline
    ) throws(CofferError) -> [BusValue] {
        try call(path, interface, method, deadline) { _ in arguments }
    }

    /// Calls a method with arguments that include the path of this client's Secret Service session.
    private func call(
        _ path: String, _ interface: String, _ method: String, _ deadline: Deadline,
        _ arguments: (_ session: String) -> [BusValue]
    ) throws(CofferError) -> [BusValue] {
        let (link, isNew) = try current(deadline)
        func make(_ link: Link) throws(CofferError) -> [BusValue] {
            try link.bus.call(
                BusMember(link.owner, path, interface, method), arguments(link.session),
                deadline: deadline.remaining)
        }
        do throws(CofferError) {
            return try make(link)
        } catch {
            let isGone = error.code == .noSecretService
            if isGone || [.timedOut, .interrupted].contains(error.code) { self.link.withLock { $0 = nil } }
            guard isGone, !isNew else { throw error }
            return try make(current(deadline).link)
        }
    }

    private func property(
        _ name: String, of path: String, _ interface: String, _ deadline: Deadline
    ) throws(CofferError) -> BusValue? {
        try call(path, Self.properties, "Get", [.text(interface), .text(name)], deadline).first?.value
    }

    private func current(_ deadline: Deadline) throws(CofferError) -> (link: Link, isNew: Bool) {
        if let link = link.withLock({ $0 }), !link.bus.isClosed { return (link, false) }
        guard let address = address ?? MessageBus.sessionAddress else {
            throw CofferError(
                .noSessionBus, "No session bus is available because DBUS_SESSION_BUS_ADDRESS is not set.")
        }
        let bus = try MessageBus.connect(address, deadline: deadline.remaining)
        let owner = try Self.owner(on: bus, deadline)
        let opened = try bus.call(
            BusMember(owner, Self.servicePath, Self.service, "OpenSession"),
            [.text("plain"), .variant(.text(""))], deadline: deadline.remaining)
        guard opened.count == 2, let session = opened[1].text else {
            throw Self.unexpectedReply("OpenSession")
        }
        let created = Link(bus: bus, owner: owner, session: session)
        link.withLock { $0 = created }
        return (created, true)
    }

    /// Returns the service's unique name. If the service is not running, the bus starts it.
    private static func owner(on bus: MessageBus, _ deadline: Deadline) throws(CofferError) -> String {
        let name = BusValue.text(SecretServiceProbe.serviceName)
        do throws(CofferError) {
            if let owner = try bus.callBus("GetNameOwner", [name], deadline: deadline.remaining)?.text {
                return owner
            }
        } catch {
            guard error.code == .noSecretService else { throw error }
        }
        _ = try bus.callBus("StartServiceByName", [name, .number(0)], deadline: deadline.remaining)
        guard let owner = try bus.callBus("GetNameOwner", [name], deadline: deadline.remaining)?.text else {
            throw unexpectedReply("GetNameOwner")
        }
        return owner
    }

    /// Returns the result of `body`; `nil` if the object that `body` calls does not exist.
    private func ifPresent<Result>(
        _ body: () throws(CofferError) -> Result?
    ) throws(CofferError) -> Result? {
        do throws(CofferError) {
            return try body()
        } catch {
            guard error.code == .absent else { throw error }
            return nil
        }
    }

    /// Returns a secret in the structure that the Secret Service uses. The secret is already sealed, so the
    /// session does not encrypt it.
    private static func structure(_ secret: [UInt8], session: String) -> BusValue {
        .structure([.path(session), .bytes([]), .bytes(secret), .text("text/plain")])
    }

    private static func value(_ structure: BusValue?) -> [UInt8]? {
        guard let fields = structure?.structure, fields.count == 4 else { return nil }
        return fields[2].bytes
    }

    private static var locked: CofferError {
        CofferError(
            .keyringLocked,
            "The desktop keyring is locked. Unlock the keyring on the desktop, then try again.")
    }

    private static func unexpectedReply(_ method: String) -> CofferError {
        CofferError(.internalFailure, "The Secret Service sent an unexpected reply to the call \(method).")
    }
}
