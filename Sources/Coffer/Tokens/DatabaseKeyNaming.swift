package import CofferBase
import CofferCrypto
package import CofferEngine
package import SystemPackage

/// The keys of databases in a vault. They stand among its tokens, so that one lock and one class hold for
/// both, and outlast a wipe of the tokens alone.
package enum DatabaseKeyNaming {
    /// The service that they stand under.
    package static let service = "coffer.soups"
    /// Where the databases are, in the vault.
    package static let directory: FilePath = "soups"
    /// How the name of a database's file ends.
    package static let suffix = ".db"

    /// The name of the file of a store.
    package static func file(_ scope: String, _ name: String) -> String { "\(scope)-\(name)\(suffix)" }

    /// The scope and the name in the name of a database's file; `nil` for any other file.
    package static func parts(of file: String) -> (scope: String, name: String)? {
        guard file.utf8.hasSuffix(suffix), let dash = file.utf8.firstIndex(of: UInt8(ascii: "-")) else {
            return nil
        }
        let rest = file.utf8[dash...].dropFirst().dropLast(suffix.utf8.count)
        return (String(decoding: file.utf8[..<dash], as: UTF8.self), String(decoding: rest, as: UTF8.self))
    }

    /// The token that is the key of a store.
    package static func id(_ scope: String, _ name: String) throws(CofferError) -> TokenID {
        try TokenID(service: service, account: "\(scope)/\(name)", kind: .other)
    }

    /// The keyed names of the keys of all databases that there are.
    static func names(
        in vault: borrowing Descriptor, device: DeviceKey
    ) throws(CofferError) -> Set<[UInt8]> {
        Set(try files(in: vault, device: device).keys)
    }

    /// The files of all databases that there are, by the keyed names of their keys.
    static func files(
        in vault: borrowing Descriptor, device: DeviceKey
    ) throws(CofferError) -> [[UInt8]: String] {
        guard try vault.status(of: directory)?.kind == .directory else { return [:] }
        let files = try vault.open(directory, [.read, .directory])
        let key = try device.key(KDFLabel.tokenName)
        var found: [[UInt8]: String] = [:]
        for file in try files.names().map(\.string) {
            guard let (scope, name) = parts(of: file) else { continue }
            found[try id(scope, name).keyedHash(key)] = file
        }
        return found
    }

    /// Removes the file of a database and what SQLite keeps beside it; gives whether there was any.
    package static func remove(
        _ file: String, from directory: borrowing Descriptor
    ) throws(CofferError) -> Bool {
        var isFound = false
        for companion in ["", "-wal", "-shm", "-journal"] {
            if try directory.remove(FilePath(file + companion)) { isFound = true }
        }
        return isFound
    }
}
