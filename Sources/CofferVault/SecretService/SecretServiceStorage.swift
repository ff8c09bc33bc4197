package import CofferBase
import CofferCrypto
import CofferEngine
import Synchronization

/// A token storage in the user's Secret Service, with one item for each envelope.
///
/// An item has three attributes: this package's name and two keyed hashes. Its secret is one line of Base64,
/// because gnome-keyring stores a collection without a password as a plain text file, which a newline in a
/// secret would damage. The time that gnome-keyring needs for a search grows with the number of items. The
/// storage therefore reads an item that it found before at the remembered path, in one call, and searches for
/// the item only if that fails. Each change performs a search, which also finds duplicates. A change takes
/// longer than a read, because gnome-keyring rewrites its file.
///
/// Other programs can create items with the same attributes. An item that has exactly this storage's
/// attributes but cannot be decoded is reported as `corrupt`. Such an item is never overwritten, and only
/// ``removeAll(_:)`` deletes it.
package final class SecretServiceStorage: ItemStorage {
    /// The label that desktop keyring programs show for each item.
    private static let label = "Coffer"
    /// The maximum number of items read in one call: the bus accepts messages of at most 128 MiB, and an item
    /// may be 1 MiB long.
    private static let batch = 32

    /// The maximum number of remembered paths.
    private static let maxPathCount = 4096

    private let client: SecretServiceClient
    /// The paths where items were last found. Each use verifies the path, because it may be outdated.
    private let paths = Mutex<[[UInt8]: String]>([:])
    /// The attributes that all items of this storage share.
    private let shared: [String: String]

    /// Creates the storage for a vault's tokens.
    package convenience init(tokensOf vaultID: VaultID, client: SecretServiceClient) throws(CofferError) {
        try self.init(KDFLabel.keyringTokens, vaultID, client)
    }

    /// Creates the storage for a vault's device key, whose name is 32 zero bytes, and for the generation of
    /// the vault's attempt counter.
    package convenience init(deviceKeyOf vaultID: VaultID, client: SecretServiceClient) throws(CofferError) {
        try self.init(KDFLabel.keyringDeviceKey, vaultID, client)
    }

    private init(_ label: String, _ vaultID: VaultID, _ client: SecretServiceClient) throws(CofferError) {
        self.client = client
        let key = try SymmetricKey.copying(vaultID.bytes.span)
        let tag = try HMAC.authenticate(Array(label.utf8).span, key: key)
        shared = ["application": "coffer", "vault": HexText.encode(tag)]
    }

    package func envelope(_ name: [UInt8]) throws(CofferError) -> [UInt8]? {
        let deadline = client.deadline()
        if let path = paths.withLock({ $0[name] }), let found = try envelope(name, at: path, deadline) {
            return found
        }
        guard let item = try item(name, deadline) else {
            try client.requireReadable(deadline)
            return nil
        }
        return item.envelope
    }

    package func envelopes() throws(CofferError) -> [[UInt8]: [UInt8]] {
        let (envelopes, damaged) = try readableEnvelopes()
        if let path = damaged.first { throw Self.corruptError(path) }
        return envelopes
    }

    package func readableEnvelopes() throws(CofferError) -> (envelopes: [[UInt8]: [UInt8]], damaged: [String])
    {
        var damaged: [String] = []
        var deadline = client.deadline()
        let paths = try find(shared, deadline)
        if paths.isEmpty { try client.requireReadable(deadline) }
        var found: [[UInt8]: (path: String, envelope: [UInt8])] = [:]
        for start in stride(from: 0, to: paths.count, by: Self.batch) {
            deadline = client.deadline()
            let batch = Array(paths[start..<min(start + Self.batch, paths.count)])
            for (path, secret) in try client.secrets(of: batch, deadline) {
                guard let (name, envelope) = Self.decode(secret) else {
                    if try isOurs(path, deadline) { damaged.append(path) }
                    continue
                }
                if let other = found[name] { throw Self.ambiguous([other.path, path]) }
                found[name] = (path, envelope)
            }
        }
        return (found.mapValues(\.envelope), damaged)
    }

    package func count() throws(CofferError) -> Int {
        let deadline = client.deadline()
        let (unlocked, locked) = try client.search(shared, deadline)
        return unlocked.count + locked.count
    }

    package func apply(_ changes: [[UInt8]: StorageChange]) throws(CofferError) {
        for (name, change) in changes {
            switch change {
            case .put(let envelope): try put(envelope, for: name, client.deadline())
            case .remove: try remove(name, client.deadline())
            }
        }
    }

    /// Removes every unlocked item; returns how many items were removed and how many remain because they are
    /// locked. Throws `timedOut` if `deadline` expires.
    package func removeAll(_ deadline: Deadline) throws(CofferError) -> (removed: Int, remaining: Int) {
        let (unlocked, locked) = try client.search(shared, deadline)
        var removed = 0
        for path in unlocked where try isOurs(path, deadline) {
            try client.delete(path, deadline)
            removed += 1
        }
        return (removed, locked.count)
    }

    // MARK: One item

    /// Stores an envelope, reads it back and checks for duplicates.
    private func put(_ envelope: [UInt8], for name: [UInt8], _ deadline: Deadline) throws(CofferError) {
        let secret = try Self.encode(name, envelope)
        let old = try item(name, deadline)
        let isReplaced = if let old { try client.replace(old.path, by: secret, deadline) } else { false }
        if !isReplaced {
            try client.create(label: Self.label, attributes(name), secret: secret, deadline)
        }
        guard let stored = try item(name, deadline), stored.envelope == envelope else {
            throw CofferError(
                .inputOutput, "The Secret Service did not return the item that was just stored.")
        }
    }

    private func remove(_ name: [UInt8], _ deadline: Deadline) throws(CofferError) {
        while let item = try item(name, deadline) { try client.delete(item.path, deadline) }
    }

    /// Searches for the item with a name and remembers its path; returns `nil` if there is no such item.
    private func item(
        _ name: [UInt8], _ deadline: Deadline
    ) throws(CofferError) -> (path: String, envelope: [UInt8])? {
        let item = try searched(name, deadline)
        paths.withLock { paths in
            if paths.count >= Self.maxPathCount { paths = [:] }
            paths[name] = item?.path
        }
        return item
    }

    /// Returns the envelope stored under a name if the item at `path` still belongs to that name and is
    /// readable.
    private func envelope(
        _ name: [UInt8], at path: String, _ deadline: Deadline
    ) throws(CofferError) -> [UInt8]? {
        do throws(CofferError) {
            guard let secret = try client.secret(of: path, deadline),
                let (storedName, envelope) = Self.decode(secret), storedName == name
            else { return nil }
            return envelope
        } catch {
            guard error.code == .keyringLocked else { throw error }
            return nil
        }
    }

    private func searched(
        _ name: [UInt8], _ deadline: Deadline
    ) throws(CofferError) -> (path: String, envelope: [UInt8])? {
        var found: [(path: String, envelope: [UInt8])] = []
        for path in try find(attributes(name), deadline) {
            guard let secret = try client.secret(of: path, deadline) else { continue }
            if let (storedName, envelope) = Self.decode(secret), storedName == name {
                found.append((path, envelope))
            } else if try isOurs(path, deadline) {
                throw Self.corruptError(path)
            }
        }
        guard found.count <= 1 else { throw Self.ambiguous(found.map(\.path)) }
        return found.first
    }

    /// Returns the paths of the items that have these attributes, after unlocking locked items.
    private func find(
        _ attributes: [String: String], _ deadline: Deadline
    ) throws(CofferError) -> [String] {
        let (unlocked, locked) = try client.search(attributes, deadline)
        guard !locked.isEmpty else { return unlocked }
        try client.unlock(locked, deadline)
        let after = try client.search(attributes, client.deadline())
        return after.unlocked + after.locked
    }

    /// Returns whether an item has this storage's shared attributes and, apart from its name and its schema,
    /// no others.
    private func isOurs(_ path: String, _ deadline: Deadline) throws(CofferError) -> Bool {
        guard var attributes = try client.attributes(of: path, deadline) else { return false }
        // The service adds this attribute, the item's schema.
        attributes["xdg:schema"] = nil
        attributes["item"] = nil
        return attributes == shared
    }

    private func attributes(_ name: [UInt8]) throws(CofferError) -> [String: String] {
        var attributes = shared
        attributes["item"] = HexText.encode(name)
        return attributes
    }

    // MARK: Encoding

    /// Returns one line of Base64 that encodes a version (1), the name (32) and the envelope.
    private static func encode(_ name: [UInt8], _ envelope: [UInt8]) throws(CofferError) -> [UInt8] {
        try Encoding.base64Text([1] + name + envelope)
    }

    private static func decode(_ line: [UInt8]) -> (name: [UInt8], envelope: [UInt8])? {
        guard let bytes = try? Encoding.decodeBase64Text(line), bytes.count >= 33, bytes[0] == 1 else {
            return nil
        }
        return (Array(bytes[1..<33]), Array(bytes[33...]))
    }

    private static func corruptError(_ path: String) -> CofferError {
        CofferError(
            .corrupt,
            "An item in the desktop keyring is damaged: \(path).", remedy: .restoreKeyring,
            entries: [path])
    }

    private static func ambiguous(_ paths: [String]) -> CofferError {
        CofferError(
            .ambiguous,
            "The desktop keyring contains several items with the same name. Remove all but one of these "
                + "items: \(paths.sorted().joined(separator: ", ")).", entries: paths.sorted())
    }
}
