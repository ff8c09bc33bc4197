import Coffer
import CofferCrypto
import CofferEngine
import CofferEnginePKCS11

/// A signature that a client began: the key and the scheme.
struct TokenSignature {
    private enum Form {
        /// Ed25519 signs the message itself.
        case message
        case ecdsa
        case digestInfo
        case pss(SignatureDigest)
    }

    /// The input of a signature.
    enum Input {
        case message([UInt8])
        case digest([UInt8], DigestScheme)
    }

    let publicKey: SigningPublicKey
    private let form: Form

    init(_ mechanism: ModuleMechanism, _ object: TokenObject) throws(ModuleFailure) {
        guard object.identity.kind == ObjectNumbers.privateKey else { throw .keyHandleInvalid }
        publicKey = object.identity.publicKey
        if mechanism.type != ModuleMechanism.rsaPSS, !mechanism.parameter.isEmpty {
            throw .mechanismParameterInvalid
        }
        switch (mechanism.type, publicKey.algorithm) {
        case (ModuleMechanism.eddsa, .ed25519): form = .message
        case (ModuleMechanism.ecdsa, .p256), (ModuleMechanism.ecdsa, .p384): form = .ecdsa
        case (ModuleMechanism.rsaPKCS, .rsa): form = .digestInfo
        case (ModuleMechanism.rsaPSS, .rsa): form = .pss(try Self.digest(mechanism.parameter))
        case (ModuleMechanism.eddsa, _), (ModuleMechanism.ecdsa, _), (ModuleMechanism.rsaPKCS, _),
            (ModuleMechanism.rsaPSS, _):
            throw .keyTypeInconsistent
        default: throw .mechanismInvalid
        }
    }

    /// Reads CK_RSA_PKCS_PSS_PARAMS: the hash function, the same one of MGF1, and the size of the salt, which
    /// must be that of the digest.
    private static func digest(_ parameter: [UInt8]) throws(ModuleFailure) -> SignatureDigest {
        let known: [(SignatureDigest, hash: UInt, mask: UInt)] = [
            (.sha256, 0x250, 2), (.sha384, 0x260, 3), (.sha512, 0x270, 4),
        ]
        for (digest, hash, mask) in known {
            let expected = [hash, mask, UInt(digest.count)].flatMap(ObjectNumbers.bytes)
            if parameter == expected { return digest }
        }
        throw .mechanismParameterInvalid
    }

    /// The number of bytes of the signature.
    var size: Int {
        switch publicKey {
        case .ed25519, .p256: 64
        case .p384: 96
        case .rsa(let key): key.modulus.count
        }
    }

    /// Returns the input in the form in which the vault signs it.
    func input(_ data: [UInt8]) throws(ModuleFailure) -> Input {
        switch form {
        case .message: return .message(data)
        case .ecdsa:
            guard [32, 48, 64].contains(data.count) else { throw .dataLengthRange }
            return .digest(data, .ecdsa)
        case .digestInfo:
            guard let (function, digest) = DigestScheme.read(digestInfo: data) else { throw .dataInvalid }
            return .digest(digest, .rsaPKCS1(function))
        case .pss(let function):
            guard data.count == function.count else { throw .dataLengthRange }
            return .digest(data, .rsaPSS(function))
        }
    }
}
