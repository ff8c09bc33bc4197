public import CofferBase
public import CofferCrypto
import CofferEngine
import CofferVault

/// A store of the secrets for the documented schemes: documented keys' UUIDs, and device keys' random strings
/// and parameters.
///
/// The vault stores each secret as a token, so the vault's lock and the protection class apply to it. No
/// secret leaves the device.
///
/// The vault never replaces an unreadable secret with a new one. Creating a secret is a separate call, which
/// fails if a secret with that name exists.
///
/// The following example requires `import CofferCrypto`:
///
/// ```swift
/// try await vault.documentedSecrets.createUUID("app")
/// let key = try await vault.documentedSecrets.withUUID("app") { uuid in
///     try Insecure.DocumentedKey.key(uuid: uuid, passcode: nil)
/// }
/// ```
public struct DocumentedSecrets: Sendable {
    static let service = ReservedServices.prefix + "documented"

    private enum Attribute {
        static let digest = "prf", salt = "salt", rounds = "rounds", keySize = "key-size"
        static let device = "device-id"
    }

    private static let maxDeviceIDLength = 1024

    private let tokens: TokenStore

    init(tokens: TokenStore) { self.tokens = tokens }

    private static func id(_ sort: String, _ name: String) throws(CofferError) -> TokenID {
        guard (1...512).contains(name.utf8.count) else {
            throw CofferError(.invalidInput, "A stored secret's name must be 1 to 512 bytes long.")
        }
        return try TokenID(service: service, account: "\(sort)/\(name)", kind: .other)
    }

    private func keep(
        _ secret: consuming SecretBytes, _ id: TokenID, _ protection: ProtectionClass,
        _ attributes: [String: String] = [:]
    ) async throws(CofferError) {
        guard !protection.isExportable else {
            throw CofferError(
                .refused, "A documented secret cannot leave this device. Choose a ThisDeviceOnly class.")
        }
        do throws(CofferError) {
            try await tokens.putReserved(Token(secret), for: id, class: protection, attributes: attributes)
        } catch {
            guard error.code == .conflict else { throw error }
            throw CofferError(
                .alreadyExists, "A secret with this name already exists. Choose another name.")
        }
    }

    /// Creates a random UUID and stores it under a name.
    ///
    /// - Parameters:
    ///   - name: The secret's name, 1 to 512 bytes.
    ///   - protection: The protection class, which determines when the secret can be read. Exportable classes
    ///     are refused.
    /// - Throws: `alreadyExists` if a secret with that name exists; `refused` if the class is exportable, or
    ///   if it requires a passcode and none is set; `invalidInput` if the name is empty or too long; `busy`
    ///   if another process holds the vault's lock for too long; `locked`, `wiped`, `corrupt` or `noSpace`.
    public func createUUID(
        _ name: String, class protection: ProtectionClass = .whenUnlockedThisDeviceOnly
    ) async throws(CofferError) {
        try await keep(Insecure.DocumentedKey.newUUID(), Self.id("uuid", name), protection)
    }

    /// Calls `body` with the UUID that is stored under a name.
    ///
    /// - Parameters:
    ///   - name: The secret's name.
    ///   - body: A closure that receives the UUID. It may throw errors of any type.
    /// - Returns: The value that `body` returns; `nil` if no UUID with that name exists.
    /// - Throws: `invalidInput` if the name is empty or too long; `locked`, `wiped` or `corrupt`; or the
    ///   error that `body` throws.
    public func withUUID<Result: ~Copyable, Failure: Error>(
        _ name: String, _ body: (_ uuid: borrowing SecretBytes) throws(Failure) -> Result
    ) async throws -> Result? {
        let id = try Self.id("uuid", name)
        guard let token = try await tokens.get(id)?.token else { return nil }
        return try body(token.secret)
    }

    /// Creates a random string and a salt, and stores them with the derivation parameters.
    ///
    /// - Parameters:
    ///   - name: The secret's name, 1 to 512 bytes.
    ///   - digest: The hash function of PBKDF2's HMAC: SHA-1, SHA-256 or SHA-512.
    ///   - rounds: The number of PBKDF2 rounds.
    ///   - keySize: The AES key's size in bytes, 16 or 32.
    ///   - deviceID: The device identifier to store with the secret, 1 to 1024 bytes. If it is `nil`, each
    ///     use reads the identifier of the machine on which the vault is at that time.
    ///   - protection: The protection class, which determines when the secret can be read. Exportable classes
    ///     are refused.
    /// - Throws: `alreadyExists` if a secret with that name exists; `invalidInput` if a parameter is invalid;
    ///   `refused` if the class is exportable, or if it requires a passcode and none is set; `unsupported` if
    ///   `deviceID` is `nil` and the machine has no identifier; `busy` if another process holds the vault's
    ///   lock for too long; `locked`, `wiped`, `corrupt` or `noSpace`.
    public func createDeviceKey(
        _ name: String, digest: Digest = .sha256, rounds: Int = 600_000, keySize: Int = 32,
        deviceID: String? = nil, class protection: ProtectionClass = .whenUnlockedThisDeviceOnly
    ) async throws(CofferError) {
        guard deviceID.map({ (1...Self.maxDeviceIDLength).contains($0.utf8.count) }) ?? true else {
            throw CofferError(
                .invalidInput,
                "A device identifier must be 1 to \(Self.maxDeviceIDLength) bytes long. Omit the identifier "
                    + "to use this machine's identifier.")
        }
        let salt = try SecureRandom.bytes(16)
        _ = try Insecure.PBKDF2CBC.Parameters(digest: digest, salt: salt, rounds: rounds, keySize: keySize)
        if deviceID == nil { _ = try Self.ownDevice() }
        var attributes = [
            Attribute.digest: try Self.name(of: digest), Attribute.salt: HexText.encode(salt),
            Attribute.rounds: String(rounds), Attribute.keySize: String(keySize),
        ]
        attributes[Attribute.device] = deviceID
        try await keep(Insecure.PBKDF2CBC.newRandomString(), Self.id("device", name), protection, attributes)
    }

    /// Calls `body` with the device scheme's secret, which is device identifier ‖ random string, and with the
    /// parameters from which `Insecure.PBKDF2CBC.key(secret:_:)` derives the key.
    ///
    /// - Parameters:
    ///   - name: The secret's name.
    ///   - body: A closure that receives the secret and the parameters. It may throw errors of any type.
    /// - Returns: The value that `body` returns; `nil` if no device key with that name exists.
    /// - Throws: `invalidInput` if the name is empty or too long; `unsupported` if the machine's identifier
    ///   is needed but the machine has none; `locked`, `wiped` or `corrupt`; or the error that `body` throws.
    public func withDeviceSecret<Result: ~Copyable, Failure: Error>(
        _ name: String,
        _ body: (_ secret: borrowing SecretBytes, _ parameters: Insecure.PBKDF2CBC.Parameters)
            throws(Failure) -> Result
    ) async throws -> Result? {
        let id = try Self.id("device", name)
        guard let found = try await tokens.get(id) else { return nil }
        let (token, info) = (found.token, found.info)
        let parameters = try Self.parameters(info.attributes)
        let device: String
        if let kept = info.attributes[Attribute.device] {
            device = kept
        } else {
            device = try Self.ownDevice()
        }
        return try body(
            Insecure.PBKDF2CBC.deviceSecret(deviceID: device, randomString: token.secret), parameters)
    }

    private static func parameters(
        _ attributes: [String: String]
    ) throws(CofferError) -> Insecure.PBKDF2CBC.Parameters {
        guard let digest = attributes[Attribute.digest].flatMap({ Digest.named($0) }),
            let salt = attributes[Attribute.salt].flatMap({ HexText.decode($0) }),
            let rounds = attributes[Attribute.rounds].flatMap({ Int($0) }),
            let keySize = attributes[Attribute.keySize].flatMap({ Int($0) })
        else {
            throw CofferError(
                .corrupt, "A stored device key's parameters are damaged.", remedy: .restoreVault)
        }
        return try Insecure.PBKDF2CBC.Parameters(
            digest: digest, salt: salt, rounds: rounds, keySize: keySize)
    }

    private static func name(of digest: Digest) throws(CofferError) -> String {
        switch digest {
        case .sha1: "sha1"
        case .sha256: "sha256"
        case .sha512: "sha512"
        default:
            throw CofferError(
                .invalidInput, "The device scheme supports only SHA-1, SHA-256 and SHA-512.")
        }
    }

    private static func ownDevice() throws(CofferError) -> String {
        guard let device = try DeviceID.current() else {
            throw CofferError(.unsupported, "This machine has no machine ID. Specify a device identifier.")
        }
        return device.description
    }
}

extension Vault {
    /// This vault's secrets for the documented schemes.
    public var documentedSecrets: DocumentedSecrets { DocumentedSecrets(tokens: tokens) }
}
