import ArgumentParser
import CofferBase
import CofferDatabase

/// Settings of SQLCipher databases that are known by a name.
enum DatabaseProfile: String, CaseIterable, ExpressibleByArgument {
    /// SQLCipher 1, whose pages are not authenticated.
    case sqlcipher1
    /// SQLCipher 2 with its defaults: the pages of SQLCipher 3, and fewer rounds of the derivation.
    case sqlcipher2
    /// Those that SmartStore had from one release to the next.
    case smartstore

    static let withoutAuthentication =
        "Databases of SQLCipher 1 cannot be read, because their pages are not authenticated: have SQLCipher "
        + "export them with sqlcipher_export."

    /// The formats and rounds of the derivation, in the order in which they are tried.
    ///
    /// - Throws: `unsupported` for a profile that cannot be read.
    func candidates() throws(CofferError) -> [(format: DatabaseFormat, iterations: Int)] {
        switch self {
        case .sqlcipher1: throw CofferError(.unsupported, Self.withoutAuthentication)
        case .sqlcipher2: return [(.sqlcipher3, 4000)]
        case .smartstore: return [(.sqlcipher4, 4000), (.sqlcipher3, 4000), (.sqlcipher3, 64_000)]
        }
    }
}
