public import CofferBase

/// A key-value store for strings in a soup, like the web's `localStorage`.
///
/// ```swift
/// let storage = try await SecureLocalStorage.open(in: store)
/// try await storage.setItem("theme", "dark")
/// let theme = try await storage.getItem("theme")
/// ```
public struct SecureLocalStorage: Sendable {
    /// The name of the default soup.
    public static let defaultSoup = "localStorage"

    /// The prefix with which every key is stored, because a key may be empty but an external id may not.
    private static let mark = "="
    private static let id = "id"
    private static let value = "value"

    private let store: SoupStore
    private let soup: String

    /// Opens the storage, creating its soup if necessary.
    ///
    /// - Parameters:
    ///   - store: The store that contains the soup.
    ///   - soup: The name of a soup that is used only for this storage.
    /// - Returns: The storage, which keeps its strings in the soup.
    /// - Throws: `alreadyExists` if a soup of this name exists with other indexes.
    public static func open(
        in store: SoupStore, soup: String = defaultSoup
    ) async throws(CofferError) -> SecureLocalStorage {
        try await store.registerSoup(soup, indexSpecs: [IndexSpec(id, .string)])
        return SecureLocalStorage(store: store, soup: soup)
    }

    /// Returns the string stored under `key`; `nil` if there is none.
    public func getItem(_ key: String) async throws(CofferError) -> String? {
        guard let id = try await find(key) else { return nil }
        return try await store.retrieve([id], from: soup).first?[Self.value]?.string
    }

    /// Stores a string under `key`, replacing the previous one.
    ///
    /// - Parameters:
    ///   - key: Any string, including the empty one.
    ///   - value: Any string.
    /// - Throws: Any error that the store throws.
    public func setItem(_ key: String, _ value: String) async throws(CofferError) {
        let document: JSONValue = [Self.id: .string(Self.mark + key), Self.value: .string(value)]
        try await store.upsert([document], in: soup, externalIDPath: Self.id)
    }

    /// Removes the string stored under `key`. Returns whether there was such a string.
    @discardableResult
    public func removeItem(_ key: String) async throws(CofferError) -> Bool {
        try await store.remove(matching: .exact(.string(Self.mark + key), path: Self.id), from: soup) > 0
    }

    /// Returns all keys, in the order in which they were added.
    public func keys() async throws(CofferError) -> [String] {
        var keys: [String] = []
        var documents = store.entries(in: soup).makeAsyncIterator()
        while let document = try await documents.next() {
            if let id = document[Self.id]?.string { keys.append(String(id.dropMark)) }
        }
        return keys
    }

    /// Returns the key at `index` in the order of ``keys()``; `nil` if the index is out of range.
    public func key(at index: Int) async throws(CofferError) -> String? {
        let keys = try await keys()
        return keys.indices.contains(index) ? keys[index] : nil
    }

    /// Returns the number of stored strings.
    public func length() async throws(CofferError) -> Int { try await store.count(in: soup) }

    /// Removes all stored strings.
    public func clear() async throws(CofferError) { try await store.clearSoup(soup) }

    private func find(_ key: String) async throws(CofferError) -> Int64? {
        try await store.lookupEntryID(in: soup, path: Self.id, value: .string(Self.mark + key))
    }
}

extension String {
    /// The text without its first scalar. A combining mark after the prefix forms one character with the
    /// prefix, so the prefix is removed as a scalar.
    fileprivate var dropMark: Substring.UnicodeScalarView { unicodeScalars.dropFirst() }
}
