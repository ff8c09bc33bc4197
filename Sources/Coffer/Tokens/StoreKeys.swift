package import CofferBase
import CofferCrypto
import CofferEngine
package import SystemPackage

/// The keys of databases in a vault. They stand among its tokens, so that one lock and one class hold for
/// both, and outlast a wipe of the tokens alone.
package enum StoreKeys {
    /// The service that they stand under.
    package static let service = "coffer.soups"
    /// Where the databases are, in the vault.
    package static let directory: FilePath = "soups"
    /// How the name of a database's file ends.
    package static let suffix = ".db"

    /// The name of the file of a store.
    package static func file(_ scope: String, _ name: String) -> String { "\(scope)-\(name)\(suffix)" }

    /// The token that is the key of a store.
    package static func id(_ scope: String, _ name: String) throws(CofferError) -> TokenID {
        try TokenID(service: service, account: "\(scope)/\(name)", kind: .other)
    }

    /// The keyed names of the keys of all databases that there are.
    static func names(
        in vault: borrowing Descriptor, device: DeviceRecord
    ) throws(CofferError) -> Set<[UInt8]> {
        guard try vault.status(of: directory)?.kind == .directory else { return [] }
        let files = try vault.open(directory, [.read, .directory])
        let key = try device.key(Label.tokenName)
        var names: Set<[UInt8]> = []
        for file in try files.names().map(\.string) where file.hasSuffix(suffix) {
            guard let dash = file.firstIndex(of: "-") else { continue }
            let name = String(file[file.index(after: dash)...].dropLast(suffix.count))
            names.insert(try id(String(file[..<dash]), name).keyedHash(key))
        }
        return names
    }
}
