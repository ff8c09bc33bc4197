import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine

/// The encryption or decryption of one message: the scheme, the key, and the IV if it is stored separately.
struct CryptJob: ~Copyable {
    /// The maximum message length, in bytes. The whole message is held in memory.
    private static let maxMessageLength = 1 << 30

    /// The first bytes of every cbc-hmac message, which are authenticated together with the message.
    static let magic = "COFFERC1"
    private static let header = Array(magic.utf8)

    private let scheme: CryptOptions.Scheme
    private let key: SymmetricKey
    private let iv: [UInt8]?

    private init(scheme: CryptOptions.Scheme, key: consuming SymmetricKey, iv: [UInt8]?) {
        self.scheme = scheme
        self.key = key
        self.iv = iv
    }

    /// Creates a job. Checks the options that can be checked without a secret before it reads the key.
    static func make(_ options: CryptOptions, _ passcodeFd: Int32?) throws(CofferError) -> CryptJob {
        var iv: [UInt8]?
        if let text = options.ivHex {
            iv = HexText.decode(text)
            let size = options.scheme == .gcm ? 12 : 16
            guard iv?.count == size else {
                throw CofferError(.invalidInput, "--iv-hex takes \(size) bytes in hexadecimal digits.")
            }
        }
        return CryptJob(scheme: options.scheme, key: try key(options, passcodeFd), iv: iv)
    }

    /// Reads standard input to its end.
    static func input() throws(CofferError) -> GuardedBytes {
        try SecretInput.all(from: try Descriptor.standardInput(), limit: maxMessageLength)
    }

    private static func key(
        _ options: CryptOptions, _ passcodeFd: Int32?
    ) throws(CofferError) -> SymmetricKey {
        if options.scheme == .pbkdf2CBC {
            guard options.keyHexFd == nil else {
                throw CofferError(.invalidInput, "pbkdf2-cbc takes a secret from --passcode-fd, not a key.")
            }
            let parameters = try Insecure.PBKDF2CBC.Parameters(
                digest: try options.derivation.requiredDigest(), salt: try options.derivation.requiredSalt(),
                rounds: try options.derivation.requiredRounds(), keySize: options.keySize)
            let secret = try PasscodeInput.readRequired(passcodeFd)
            return try Insecure.PBKDF2CBC.key(secret: secret, parameters)
        }
        guard let number = options.keyHexFd else {
            throw CofferError(.invalidInput, "A key is required. Specify it with --key-hex-fd.")
        }
        let key = try PasscodeInput.key(fromHexOn: number)
        let sizes = options.scheme.keySizes
        guard sizes.contains(key.count) else {
            let wanted = sizes.map(String.init).joined(separator: " or ")
            throw CofferError(
                .invalidInput, "\(options.scheme.rawValue) takes a key of \(wanted) bytes, not \(key.count).")
        }
        return key
    }

    borrowing func encrypt(_ plaintext: Span<UInt8>) throws(CofferError) -> [UInt8] {
        switch scheme {
        case .documentedCBC, .pbkdf2CBC:
            guard let iv else { return try Insecure.DocumentedCBC.encrypt(plaintext, key: key) }
            return try CBC.seal(plaintext, iv: iv.span, key: key)
        case .authenticatedCBC:
            try throwIfIVGiven()
            let header = Self.header
            var scheme = try AuthenticatedCBC.prepare(key: key)
            return header + (try scheme.seal(plaintext, associatedData: header.span))
        case .gcm:
            try throwIfIVGiven()
            var aead = try AEAD.prepare(gcmAlgorithm, key: key)
            return try aead.seal(plaintext)
        }
    }

    borrowing func decrypt(_ message: Span<UInt8>) throws(CofferError) -> SecretBytes {
        switch scheme {
        case .documentedCBC, .pbkdf2CBC:
            guard let iv else { return try Insecure.DocumentedCBC.decrypt(message, key: key) }
            return try CBC.open(message, iv: iv.span, key: key)
        case .authenticatedCBC:
            try throwIfIVGiven()
            let header = Self.header
            guard message.count > header.count,
                ConstantTime.equal(message.extracting(..<header.count), header.span)
            else { throw CofferError.notAuthentic }
            var scheme = try AuthenticatedCBC.prepare(key: key)
            return try scheme.open(message.extracting(header.count...), associatedData: header.span)
        case .gcm:
            var aead = try AEAD.prepare(gcmAlgorithm, key: key)
            let nonce = iv ?? []
            let whole = try GuardedBytes.concatenating(nonce.span, message)
            return try aead.open(whole.span)
        }
    }

    private func throwIfIVGiven() throws(CofferError) {
        guard iv == nil else {
            throw CofferError(
                .invalidInput, "\(scheme.rawValue) generates its own IV. Omit --iv-hex.")
        }
    }

    private var gcmAlgorithm: AEAD.Algorithm {
        switch key.count {
        case 16: .aes128GCM
        case 24: .aes192GCM
        default: .aes256GCM
        }
    }
}

extension CryptOptions.Scheme {
    /// The key sizes that the scheme supports, in bytes.
    fileprivate var keySizes: [Int] {
        switch self {
        case .documentedCBC, .pbkdf2CBC: [16, 32]
        case .authenticatedCBC: [32]
        case .gcm: [16, 24, 32]
        }
    }
}
