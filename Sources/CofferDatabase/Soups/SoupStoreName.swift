public import CofferBase

/// The name of a store, with its scope.
public struct SoupStoreName: Sendable, Hashable, CustomStringConvertible {
    /// A store's owner.
    public enum Scope: String, Sendable, CaseIterable {
        /// The logged-in user; by default, a logout wipes the store.
        case user
        /// Everyone who uses the vault; by default, a logout only closes the store.
        case global
    }

    private static let maximumLength = 64

    /// The store's owner.
    public let scope: Scope
    /// The name, unique in its scope.
    public let name: String

    /// Creates a name.
    ///
    /// - Parameters:
    ///   - name: The store's name: 1 to 64 ASCII letters, digits, dashes, dots and underscores, not beginning
    ///     with a dot. The name becomes part of a file name.
    ///   - scope: The store's owner.
    /// - Throws: `invalidInput` if the name does not have this form.
    public init(_ name: String, _ scope: Scope) throws(CofferError) {
        self.name = try Self.checked(name, of: "store")
        self.scope = scope
    }

    /// Returns the name if a store or, by the same rules, a database can have it.
    ///
    /// - Throws: `invalidInput`; the message names the `kind`.
    static func checked(_ name: String, of kind: String) throws(CofferError) -> String {
        let isFit = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard isFit, (1...Self.maximumLength).contains(name.utf8.count), !name.utf8.hasPrefix(".") else {
            throw CofferError(
                .invalidInput,
                "A \(kind)'s name must consist of 1 to \(Self.maximumLength) of the characters A-Z a-z 0-9 - "
                    + ". _ and cannot begin with a dot.")
        }
        return name
    }

    /// The scope and the name, separated by a slash.
    public var description: String { "\(scope.rawValue)/\(name)" }
}
