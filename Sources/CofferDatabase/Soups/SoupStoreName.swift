public import CofferBase

/// The name of one store among several.
public struct SoupStoreName: Sendable, Hashable, CustomStringConvertible {
    /// Whose store it is.
    public enum Scope: String, Sendable, CaseIterable {
        /// The user's who is logged in: by default it goes with the login.
        case user
        /// Everybody's who uses the vault: by default it outlasts a login.
        case global
    }

    private static let maximumLength = 64

    /// Whose store it is.
    public let scope: Scope
    /// The name in its scope.
    public let name: String

    /// A name.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 letters and digits of ASCII, dashes, dots and underlines; no dot at the start. It
    ///     becomes part of a file's name.
    ///   - scope: Whose store it is.
    /// - Throws: `invalidInput` for any other name.
    public init(_ name: String, _ scope: Scope) throws(CofferError) {
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
                "A store's name has 1 to \(Self.maximumLength) of A-Z a-z 0-9 - . _ and no dot at the start.")
        }
        self.name = name
        self.scope = scope
    }

    /// The scope and the name.
    public var description: String { "\(scope.rawValue)/\(name)" }
}
