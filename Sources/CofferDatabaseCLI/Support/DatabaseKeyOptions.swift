import ArgumentParser
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferDatabase
import CofferEngine
import GRDB
import SystemPackage

/// The options that specify a database key.
struct DatabaseKeyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read the key, 32 bytes in hexadecimal, from the first line of this descriptor.", valueName: "n"))
    var keyHexFd: Int32?

    @Option(
        help: ArgumentHelp(
            "Read a passphrase, for the format's own derivation, from the first line of this descriptor.",
            valueName: "n"))
    var passphraseFd: Int32?

    @Flag(
        help: """
            Accept a gcm1 database whose key derivation needs more than 1 GiB of memory or 16 passes, up to \
            4 GiB and 64 passes.
            """)
    var allowExpensive = false

    @Option(
        help: ArgumentHelp(
            "The number of SQLCipher's derivation rounds for a passphrase (kdf_iter), if not the default.",
            valueName: "n"))
    var kdfIterations: Int?

    @Option(
        help: ArgumentHelp(
            "SQLCipher's page size, 1024 to 65536, if not the default.", valueName: "bytes"))
    var pageSize: Int?

    @Option(
        help: ArgumentHelp(
            "The salt (cipher_salt) for a sqlcipher4 database with a clear header, which does not contain "
                + "it: 32 hexadecimal digits. The salt is not secret.", valueName: "hex"))
    var saltHex: String?

    @Option(
        help: ArgumentHelp(
            "With --salt-hex: the length of the clear header (cipher_plaintext_header_size), if not 32.",
            valueName: "bytes"))
    var clearHeader: Int?

    @Option(
        help: """
            Use known settings instead of a codec: sqlcipher2, or smartstore, which tries each of \
            SmartStore's. sqlcipher1 cannot be read.
            """)
    var profile: DatabaseProfile?

    /// Whether any option specifies the settings of an existing SQLCipher database.
    var describesDatabase: Bool {
        kdfIterations != nil || pageSize != nil || saltHex != nil || clearHeader != nil || profile != nil
    }

    /// Whether a key or a passphrase is given.
    var isGiven: Bool { keyHexFd != nil || passphraseFd != nil }

    /// The keys for two databases, both made from the same secret.
    struct Pair: ~Copyable {
        let first: DatabaseKey
        let second: DatabaseKey
    }

    /// Returns the key for a new database. Ignores the options that describe an existing one.
    func newKey(_ format: DatabaseFormat) throws(CofferError) -> DatabaseKey {
        try key(secret(), format)
    }

    /// Returns the key for the database at `path`, with that database's settings.
    ///
    /// - Parameters:
    ///   - format: The database format, or `nil` if the profile determines it.
    ///   - path: The path of the database. If a profile has several settings, each of them is tried on this
    ///     database.
    /// - Returns: The key, which contains its format.
    /// - Throws: `notAuthentic` if none of the profile's settings opens the database; `invalidInput` if
    ///   options contradict each other; `unsupported` if databases with the profile cannot be read.
    func key(_ format: DatabaseFormat?, at path: FilePath) throws(CofferError) -> DatabaseKey {
        try key(secret(), format, at: path)
    }

    /// Returns the key for the database at `path` and the key for a new database, both made from the same
    /// secret.
    func keys(
        _ first: DatabaseFormat?, at path: FilePath, _ second: DatabaseFormat
    ) throws(CofferError) -> Pair {
        let secret = try secret()
        return Pair(first: try key(secret, first, at: path), second: try key(secret, second))
    }

    private func key(
        _ secret: borrowing GuardedBytes, _ format: DatabaseFormat?, at path: FilePath
    ) throws(CofferError) -> DatabaseKey {
        switch (format, profile) {
        case (let format?, nil): return try key(secret, format, iterations: kdfIterations)
        case (nil, let profile?):
            guard kdfIterations == nil else {
                throw CofferError(
                    .invalidInput, "--profile sets the number of derivation rounds. Omit --kdf-iterations.")
            }
            let candidates = try profile.candidates()
            for candidate in candidates {
                let key = try key(
                    secret, candidate.format,
                    iterations: passphraseFd == nil ? nil : candidate.iterations)
                let isRight = if candidates.count == 1 { true } else { try Self.opens(path, key) }
                if isRight { return key }
            }
            throw CofferError(
                .notAuthentic,
                "None of the profile's settings opens the database. Either the database has other "
                    + "settings, or the key is wrong. "
                    + DatabaseProfile.withoutAuthentication)
        default: throw CofferError(.invalidInput, "Specify either the format or --profile.")
        }
    }

    /// Returns the key made from the secret, with SQLCipher's settings if any are given.
    private func key(
        _ secret: borrowing GuardedBytes, _ format: DatabaseFormat, iterations: Int?
    ) throws(CofferError) -> DatabaseKey {
        guard iterations == nil || passphraseFd != nil else {
            throw CofferError(
                .invalidInput, "--kdf-iterations works only with a passphrase. Omit that option.")
        }
        guard clearHeader == nil || saltHex != nil else {
            throw CofferError(
                .invalidInput,
                "--clear-header requires --salt-hex, because a database with a clear header does not "
                    + "contain its salt.")
        }
        var settings = SQLCipherSettings(iterations: iterations, pageSize: pageSize)
        if let saltHex {
            guard let salt = HexText.decode(saltHex), salt.count == 16 else {
                throw CofferError(.invalidInput, "--salt-hex takes 32 hexadecimal digits.")
            }
            settings.salt = salt
            if let clearHeader { settings.plaintextHeader = clearHeader }
        }
        let key = try key(secret, format)
        guard settings != SQLCipherSettings() else { return key }
        return try key.with(settings)
    }

    /// Reports whether the key opens the database. Does not change the database.
    private static func opens(_ path: FilePath, _ key: borrowing DatabaseKey) throws(CofferError) -> Bool {
        var configuration = Configuration()
        configuration.readonly = true
        do {
            let queue = try EncryptedDatabase.queue(at: path, key: key, configuration: configuration)
            try queue.close()
            return true
        } catch {
            let failure = EncryptedDatabase.failure(error)
            guard [.notAuthentic, .foreign, .corrupt].contains(failure.code) else { throw failure }
            return false
        }
    }

    static func rawKey(on number: Int32, _ format: DatabaseFormat) throws(CofferError) -> DatabaseKey {
        try .raw(SecretBytes(hexKey(on: number)), format: format)
    }

    static func passphrase(
        on number: Int32, _ format: DatabaseFormat
    ) throws(CofferError) -> DatabaseKey {
        try .passphrase(PasscodeInput.passcode(on: number), format: format)
    }

    private static func hexKey(on number: Int32) throws(CofferError) -> GuardedBytes {
        let digits = try PasscodeInput.line(of: number, droppingReturn: true)
        guard digits.count > 0 else {
            throw CofferError(
                .invalidInput, "The first line of descriptor \(number) is empty. Write the key to that line.")
        }
        let refusal = CofferError(.invalidInput, "The key must be 64 hexadecimal digits and nothing else.")
        guard digits.count == 64 else { throw refusal }
        do throws(CofferError) {
            return try Encoding.decodeHex(digits.span)
        } catch {
            throw error.code == .invalidInput ? refusal : error
        }
    }

    private func secret() throws(CofferError) -> GuardedBytes {
        switch (keyHexFd, passphraseFd) {
        case (let number?, nil): return try Self.hexKey(on: number)
        case (nil, let number?): return try PasscodeInput.line(of: number, droppingReturn: true)
        default:
            throw CofferError(.invalidInput, "Specify either --key-hex-fd or --passphrase-fd.")
        }
    }

    private func key(
        _ secret: borrowing GuardedBytes, _ format: DatabaseFormat
    ) throws(CofferError) -> DatabaseKey {
        let copy = SecretBytes(try GuardedBytes.copying(secret.span))
        return passphraseFd != nil
            ? try .passphrase(copy, format: format, allowingExpensive: allowExpensive)
            : try .raw(copy, format: format)
    }
}
