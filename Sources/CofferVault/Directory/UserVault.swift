public import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

extension VaultLocation {
    private static let maxUserLength = 1024

    /// Returns the location of one user's namespace: a separate vault inside this vault, with its own keys
    /// and its own passcode. Logging that user out wipes only the namespace; wiping this vault also wipes the
    /// namespace.
    ///
    /// The directory's name does not contain the user's name, but a program that can read this vault's id can
    /// check whether a guess of the user's name is right.
    ///
    /// ```swift
    /// let vault = try await Vault(at: location.namespace(of: "ada@example.org"))
    /// ```
    ///
    /// - Parameter user: The user's name: 1 to 1024 bytes of UTF-8, compared byte for byte.
    /// - Returns: The namespace's location, which may not contain a vault yet.
    /// - Throws: `invalidInput` if `user` is empty or too long; `notInitialised` if there is no vault at this
    ///   location; `wiped` if this vault was wiped; `refused` if this location is itself a namespace.
    public func namespace(of user: String) throws(CofferError) -> VaultLocation {
        guard parentVault == nil else {
            throw CofferError(.refused, "A user's namespace cannot contain other namespaces.")
        }
        let home = try VaultDirectory.openDirectory(self)
        _ = try home.openVault()
        guard let state = try home.state() else { throw CofferError.wiped }
        return try namespace(of: user, in: state.vaultID)
    }

    /// Returns the locations of all users' namespaces in this vault, ordered by directory name. The locations
    /// do not reveal the users' names, which are not stored. To identify a user's namespace, compare its
    /// location with the result of ``namespace(of:)``.
    ///
    /// - Throws: `notInitialised` if there is no vault at this location; `wiped` if this vault was wiped;
    ///   `refused` if this location is itself a namespace.
    public func namespaces() throws(CofferError) -> [VaultLocation] {
        guard parentVault == nil else {
            throw CofferError(.refused, "A user's namespace cannot contain other namespaces.")
        }
        let home = try VaultDirectory.openDirectory(self)
        _ = try home.openVault()
        guard try home.directory.status(of: VaultDirectory.usersName)?.kind == .directory else { return [] }
        let users = try home.directory.open(VaultDirectory.usersName, [.read, .directory])
        var names: [String] = []
        for name in try users.names() {
            if try users.status(of: name)?.kind == .directory { names.append(name.string) }
        }
        return names.sorted().map { name in
            inside(path.pushing(VaultDirectory.usersName).appending(name))
        }
    }

    package func namespace(of user: String, in vaultID: VaultID) throws(CofferError) -> VaultLocation {
        guard (1...Self.maxUserLength).contains(user.utf8.count) else {
            throw CofferError(.invalidInput, "A user's name must be 1 to \(Self.maxUserLength) bytes long.")
        }
        let key = try SymmetricKey.copying(vaultID.bytes.span)
        let message = Array((KDFLabel.userNamespace + user).utf8)
        let tag = try HMAC.authenticate(message.span, key: key)
        let name = HexText.encode(Array(tag.prefix(16)))
        let path = path.pushing(VaultDirectory.usersName).appending(name)
        return inside(path)
    }

    /// Returns a location that has everything but its path from this one.
    private func inside(_ path: FilePath) -> VaultLocation {
        var location = VaultLocation(path: path, sessionBus: sessionBus)
        location.policyDirectory = policyDirectory
        return location
    }

    /// The location of the vault that contains this namespace; `nil` if this location is not a namespace.
    package var parentVault: VaultLocation? {
        let users = path.removingLastComponent()
        guard let name = users.lastComponent, FilePath(root: nil, [name]) == VaultDirectory.usersName else {
            return nil
        }
        let parent = users.removingLastComponent()
        let path: FilePath = parent.isEmpty ? "." : parent
        guard let directory = try? Descriptor.open(path, [.read, .directory]),
            (try? VaultStateFile.read(in: directory)) != nil
        else { return nil }
        return inside(path)
    }
}
