import Coffer
import CofferCrypto
import CofferEnginePKCS11
import FoundationEssentials

/// An object of the token: a certificate, or one half of a key pair.
struct TokenObject {
    /// The identity of an object, which keeps its number as long as the key pair has it.
    struct Identity: Hashable {
        let pair: UUID
        let publicKey: SigningPublicKey
        let kind: UInt
        let index: Int
    }

    let identity: Identity
    let attributes: [UInt: [UInt8]]

    private init(_ pair: KeyPair, _ kind: UInt, _ index: Int, _ attributes: ObjectAttributes) {
        identity = Identity(pair: pair.id, publicKey: pair.publicKey, kind: kind, index: index)
        self.attributes = attributes.values
    }

    /// Returns the objects of a key pair.
    static func all(of pair: KeyPair) -> [TokenObject] {
        let certificates = (pair.chain?.certificates ?? []).enumerated().compactMap { index, der in
            ObjectAttributes.certificate(der, at: index, of: pair).map {
                TokenObject(pair, ObjectNumbers.certificate, index, $0)
            }
        }
        return certificates + [
            TokenObject(pair, ObjectNumbers.publicKey, 0, .publicKey(of: pair)),
            TokenObject(pair, ObjectNumbers.privateKey, 0, .privateKey(of: pair)),
        ]
    }

    /// Returns the value of an attribute.
    func value(_ type: UInt) throws(ModuleFailure) -> [UInt8] {
        if let value = attributes[type] { return value }
        guard identity.kind == ObjectNumbers.privateKey, ObjectNumbers.secrets.contains(type) else {
            throw .attributeTypeInvalid
        }
        throw .attributeSensitive
    }

    func matches(_ template: [ModuleAttribute]) -> Bool {
        template.allSatisfy { attributes[$0.type] == $0.value }
    }
}
