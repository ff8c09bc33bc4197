import CofferBase

/// A step of signing out that is next. It is stored before it begins, with what it needs to know after a
/// crash.
struct LogoutStep: Equatable {
    /// The steps in their order. The raw value is what is stored.
    enum Name: String, CaseIterable {
        /// The tokens are put aside for their revocation.
        case tokens
        /// The account's data and the passcode go.
        case stores
        /// The session's rows go.
        case rows
    }

    let name: Name
    /// Whether the account's data goes, too.
    let removesStores: Bool

    init(_ name: Name, removesStores: Bool) {
        self.name = name
        self.removesStores = removesStores
    }

    /// Reads a stored step. A step of another release begins again: every step can be repeated.
    init(text: String) {
        let parts = text.parts(between: ",")
        name =
            parts.first.flatMap { first in
                Name.allCases.first { $0.rawValue.hasSameBytes(as: first) }
            } ?? .tokens
        removesStores = parts.contains { $0.hasSameBytes(as: "stores-go") }
    }

    /// The stored form.
    var text: String { removesStores ? name.rawValue + ",stores-go" : name.rawValue }
}
