import Coffer
import CofferBase
import CofferDatabase

/// The name of a database in a vault: its namespace, and the name in it.
struct DatabaseName: Hashable {
    /// The namespaces of databases: those of soup stores, and that of a program's own databases.
    private static let scopes = SoupStoreName.Scope.allCases.map(\.rawValue) + ["database"]

    let scope: String
    let name: String

    /// The name in the archive, which is also the start of the database's file name in the vault. A scope has
    /// no dash.
    var text: String { "\(scope)-\(name)" }

    /// Creates a name; returns `nil` if no database can have it.
    init?(scope: String, name: String) {
        guard Self.scopes.contains(where: { $0.hasSameBytes(as: scope) }),
            (try? SoupStoreName(name, .user)) != nil
        else { return nil }
        self.scope = scope
        self.name = name
    }

    /// Creates a name from ``text``, followed by a suffix.
    init?(_ text: String, suffix: String) {
        guard text.utf8.hasSuffix(suffix), let dash = text.utf8.firstIndex(of: UInt8(ascii: "-")) else {
            return nil
        }
        let name = text.utf8[dash...].dropFirst().dropLast(suffix.utf8.count)
        self.init(
            scope: String(decoding: text.utf8[..<dash], as: UTF8.self),
            name: String(decoding: name, as: UTF8.self))
    }
}
