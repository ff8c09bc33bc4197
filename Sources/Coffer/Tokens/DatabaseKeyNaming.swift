package import CofferBase
import CofferCrypto
package import CofferEngine
import CofferVault
package import SystemPackage

/// The naming scheme for the keys of a vault's databases. The keys are stored among the vault's tokens, so
/// the same lock and the same protection classes apply to them. A wipe of the tokens alone keeps the keys.
package enum DatabaseKeyNaming {
    /// The service under which the keys are stored.
    package static let service = "coffer.soups"
    /// The directory inside the vault that holds the databases.
    package static let directory: FilePath = "soups"
    /// The first part of the file names of a program's own databases; those of soup stores begin otherwise.
    package static let databaseScope = "database"
    /// The suffix of a database's file name.
    package static let suffix = ".db"

    /// Returns a database's file name.
    package static func file(_ scope: String, _ name: String) -> String { "\(scope)-\(name)\(suffix)" }

    /// Returns the scope and the name that a database's file name contains; `nil` for any other file.
    package static func parts(of file: String) -> (scope: String, name: String)? {
        guard file.utf8.hasSuffix(suffix), let dash = file.utf8.firstIndex(of: UInt8(ascii: "-")) else {
            return nil
        }
        let rest = file.utf8[dash...].dropFirst().dropLast(suffix.utf8.count)
        return (String(decoding: file.utf8[..<dash], as: UTF8.self), String(decoding: rest, as: UTF8.self))
    }

    /// Returns the ID of the token that holds a database's key.
    package static func id(_ scope: String, _ name: String) throws(CofferError) -> TokenID {
        try TokenID(service: service, account: "\(scope)/\(name)", kind: .other)
    }

    /// Returns the number of a program's own databases.
    static func databaseCount(in vault: borrowing Descriptor) throws(CofferError) -> Int {
        guard try vault.status(of: directory) != nil else { return 0 }
        return try vault.open(directory, [.read, .directory]).names().count {
            parts(of: $0.string)?.scope.hasSameBytes(as: databaseScope) == true
        }
    }

    /// Returns the keyed name of each existing database's key.
    static func names(
        in vault: borrowing Descriptor, device: DeviceKey
    ) throws(CofferError) -> Set<[UInt8]> {
        Set(try files(in: vault, device: device).keys)
    }

    /// Returns the file name of each existing database, indexed by the keyed name of the database's key.
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

    /// Removes a database's file and SQLite's companion files; returns whether any of them existed.
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
