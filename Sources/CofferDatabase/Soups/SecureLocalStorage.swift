public import CofferBase

/// Texts by key, as the web's `localStorage` keeps them, in a soup.
///
/// ```swift
/// let storage = try await SecureLocalStorage.open(in: store)
/// try await storage.setItem("theme", "dark")
/// let theme = try await storage.getItem("theme")
/// ```
public struct SecureLocalStorage: Sendable {
    /// The soup that is used where none is named.
    public static let defaultSoup = "localStorage"

    /// Keys may be empty, external ids may not: so each gets a mark before it.
    private static let mark = "="
    private static let id = "id"
    private static let value = "value"

    private let store: SoupStore
    private let soup: String

    /// Opens the storage, making its soup when there is none.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - soup: A soup that serves this alone.
    /// - Returns: The storage.
    /// - Throws: `alreadyExists` when the soup serves something else.
    public static func open(
        in store: SoupStore, soup: String = defaultSoup
    ) async throws(CofferError) -> SecureLocalStorage {
        try await store.registerSoup(soup, indexSpecs: [IndexSpec(id, .string)])
        return SecureLocalStorage(store: store, soup: soup)
    }

    /// The text under `key`; `nil` when there is none.
    public func getItem(_ key: String) async throws(CofferError) -> String? {
        guard let id = try await find(key) else { return nil }
        return try await store.retrieve([id], from: soup).first?[Self.value]?.string
    }

    /// Keeps a text under `key`, in place of the one there was.
    ///
    /// - Parameters:
    ///   - key: Any text, also an empty one.
    ///   - value: Any text.
    /// - Throws: As every call of the store.
    public func setItem(_ key: String, _ value: String) async throws(CofferError) {
        let document: JSONValue = [Self.id: .string(Self.mark + key), Self.value: .string(value)]
        try await store.upsert([document], in: soup, externalIDPath: Self.id)
    }

    /// Removes the text under `key`; gives whether there was one.
    @discardableResult
    public func removeItem(_ key: String) async throws(CofferError) -> Bool {
        try await store.remove(matching: .exact(.string(Self.mark + key), path: Self.id), from: soup) > 0
    }

    /// All keys, the one first set first.
    public func keys() async throws(CofferError) -> [String] {
        var keys: [String] = []
        var documents = store.entries(in: soup).makeAsyncIterator()
        while let document = try await documents.next() {
            if let id = document[Self.id]?.string { keys.append(String(id.dropMark)) }
        }
        return keys
    }

    /// The key at `index` of ``keys()``; `nil` when there are fewer.
    public func key(at index: Int) async throws(CofferError) -> String? {
        let keys = try await keys()
        return keys.indices.contains(index) ? keys[index] : nil
    }

    /// How many texts there are.
    public func length() async throws(CofferError) -> Int { try await store.count(in: soup) }

    /// Removes all texts.
    public func clear() async throws(CofferError) { try await store.clearSoup(soup) }

    private func find(_ key: String) async throws(CofferError) -> Int64? {
        try await store.lookupEntryID(in: soup, path: Self.id, value: .string(Self.mark + key))
    }
}

extension String {
    /// Without the first scalar. By scalars: a combining mark after it would go with it otherwise.
    fileprivate var dropMark: Substring.UnicodeScalarView { unicodeScalars.dropFirst() }
}
