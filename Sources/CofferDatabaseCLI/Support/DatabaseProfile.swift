import ArgumentParser
import CofferBase
import CofferDatabase

/// The well-known sets of SQLCipher settings, each of which has a name.
enum DatabaseProfile: String, CaseIterable, ExpressibleByArgument {
    /// SQLCipher 1, whose pages are not authenticated.
    case sqlcipher1
    /// SQLCipher 2 with its defaults, which are SQLCipher 3's page format with fewer derivation rounds.
    case sqlcipher2
    /// The settings that successive SmartStore releases used.
    case smartstore

    static let withoutAuthentication =
        "SQLCipher 1 databases cannot be read, because their pages are not authenticated. Export them in "
        + "SQLCipher with sqlcipher_export."

    /// Returns the pairs of format and number of derivation rounds, in the order in which they are tried.
    ///
    /// - Throws: `unsupported` if databases with this profile cannot be read.
    func candidates() throws(CofferError) -> [(format: DatabaseFormat, iterations: Int)] {
        switch self {
        case .sqlcipher1: throw CofferError(.unsupported, Self.withoutAuthentication)
        case .sqlcipher2: return [(.sqlcipher3, 4000)]
        case .smartstore: return [(.sqlcipher4, 4000), (.sqlcipher3, 4000), (.sqlcipher3, 64_000)]
        }
    }
}
