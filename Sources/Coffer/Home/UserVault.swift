public import CofferBase
import CofferCrypto
import CofferEngine
import SystemPackage

extension VaultLocation {
    private static let maxUserLength = 1024

    /// Where the things of one user of an app are: a vault of its own inside this home, with its own keys and
    /// its own passcode, which a logout wipes alone and a wipe of this home wipes too.
    ///
    /// The directory's name does not tell the user's; who knows this home can check a guess.
    ///
    /// ```swift
    /// let session = try await Session.open(at: location.namespace(of: "ada@example.org"))
    /// ```
    ///
    /// - Parameter user: 1 to 1024 bytes of UTF-8, compared byte for byte.
    /// - Returns: The namespace's location; there may be no vault yet.
    /// - Throws: `invalidInput` for a user without a name; `notInitialised`, `wiped` as this home is;
    ///   `refused` inside of a namespace.
    public func namespace(of user: String) throws(CofferError) -> VaultLocation {
        guard parentVault == nil else {
            throw CofferError(.refused, "A user's namespace has no namespaces of its own.")
        }
        let home = try VaultDirectory.openDirectory(self)
        _ = try home.openVault()
        guard let state = try home.state() else { throw CofferError.wiped }
        return try namespace(of: user, in: state.vaultID)
    }

    func namespace(of user: String, in vaultID: VaultID) throws(CofferError) -> VaultLocation {
        guard (1...Self.maxUserLength).contains(user.utf8.count) else {
            throw CofferError(.invalidInput, "A user's name has 1 to \(Self.maxUserLength) bytes.")
        }
        let key = try SymmetricKey.copying(vaultID.bytes.span)
        let message = Array((KDFLabel.userNamespace + user).utf8)
        let tag = try HMAC.authenticate(message.span, key: key)
        let name = String(decoding: try Encoding.hexText(Array(tag.prefix(16))), as: UTF8.self)
        let path = path.pushing(VaultDirectory.usersName).appending(name)
        return VaultLocation(path: path, sessionBus: sessionBus)
    }

    /// The home that this one is a namespace of; `nil` when it is none.
    var parentVault: VaultLocation? {
        let users = path.removingLastComponent()
        guard let name = users.lastComponent, FilePath(root: nil, [name]) == VaultDirectory.usersName else {
            return nil
        }
        let parent = users.removingLastComponent()
        let path: FilePath = parent.isEmpty ? "." : parent
        guard let directory = try? Descriptor.open(path, [.read, .directory]),
            (try? VaultStateFile.read(in: directory)) != nil
        else { return nil }
        return VaultLocation(path: path, sessionBus: sessionBus)
    }
}
