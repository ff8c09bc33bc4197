package import CofferBase
package import CofferEngine
import SystemPackage

extension VaultDirectory {
    /// Returns the vault directory that contains this namespace, or this directory itself if it is not a
    /// namespace.
    package func outermost() throws(CofferError) -> Descriptor {
        guard let above = try? directory.open("../..", [.read, .directory]),
            let users = try above.status(of: Self.usersName),
            let parent = try directory.status(of: ".."), users.isSameFile(as: parent),
            try above.status(of: Self.vaultName) != nil
        else { return try directory.duplicate() }
        return above
    }

    /// Returns whether `other` is this directory, the vault directory that contains this namespace, or a
    /// directory in either of them, regardless of the names and links in its path.
    func contains(_ other: borrowing Descriptor) throws(CofferError) -> Bool {
        let own = try directory.status()
        let around = try outermost().status()
        return try other.isOrIsBelow { $0.isSameFile(as: own) || $0.isSameFile(as: around) }
    }
}
