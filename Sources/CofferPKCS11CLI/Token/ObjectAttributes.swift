import Coffer
import CofferCrypto
import FoundationEssentials

/// The numbers of PKCS #11 for the classes and attributes of objects.
enum ObjectNumbers {
    static let certificate: UInt = 1
    static let publicKey: UInt = 2
    static let privateKey: UInt = 3

    /// The parts of private keys: the value, and an RSA key's exponents, primes and coefficient.
    static let secrets: Set<UInt> = [0x11, 0x123, 0x124, 0x125, 0x126, 0x127, 0x128]

    /// Returns a number as the bytes of `CK_ULONG` on this machine.
    static func bytes(_ number: UInt) -> [UInt8] {
        let ascending = (0..<UInt.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> (8 * UInt($0))) }
        return UInt(1).littleEndian == 1 ? ascending : ascending.reversed()
    }

    static func flag(_ isSet: Bool) -> [UInt8] { [isSet ? 1 : 0] }
}

/// The attributes of the objects of a key pair.
struct ObjectAttributes {
    private(set) var values: [UInt: [UInt8]]

    private init(_ kind: UInt, label: String, id: [UInt8]) {
        values = [
            0x00: ObjectNumbers.bytes(kind), 0x03: Array(label.utf8), 0x102: id,
            // CKA_TOKEN, and CKA_PRIVATE: descriptions can be read while the vault is locked. CKA_MODIFIABLE,
            // CKA_COPYABLE and CKA_DESTROYABLE.
            0x01: ObjectNumbers.flag(true), 0x02: ObjectNumbers.flag(false),
            0x170: ObjectNumbers.flag(false), 0x171: ObjectNumbers.flag(false),
            0x172: ObjectNumbers.flag(false),
        ]
    }

    private mutating func set(_ types: [UInt], _ isSet: Bool) {
        for type in types { values[type] = ObjectNumbers.flag(isSet) }
    }

    /// A certificate of a key pair's chain; `nil` if it cannot be read.
    static func certificate(_ der: [UInt8], at index: Int, of pair: KeyPair) -> ObjectAttributes? {
        guard let parts = CertificateParts(der: der) else { return nil }
        // An authority's certificate does not belong to the private key, so it has neither its name nor id.
        let isOwn = index == 0
        var object = ObjectAttributes(
            ObjectNumbers.certificate, label: isOwn ? pair.alias : "\(pair.alias) authority \(index)",
            id: pair.idBytes + (isOwn ? [] : [UInt8(truncatingIfNeeded: index)]))
        // CKA_CERTIFICATE_TYPE is CKC_X_509; CKA_CERTIFICATE_CATEGORY is that of a user or an authority.
        object.values[0x80] = ObjectNumbers.bytes(0)
        object.values[0x87] = ObjectNumbers.bytes(isOwn ? 1 : 2)
        object.values[0x86] = ObjectNumbers.flag(false)
        object.values[0x81] = parts.issuer
        object.values[0x82] = parts.serial
        object.values[0x101] = parts.subject
        object.values[0x11] = der
        return object
    }

    /// The public key of a key pair.
    static func publicKey(of pair: KeyPair) -> ObjectAttributes {
        var object = ObjectAttributes(ObjectNumbers.publicKey, label: pair.alias, id: pair.idBytes)
        object.addKey(of: pair)
        // CKA_VERIFY; CKA_ENCRYPT, CKA_WRAP, CKA_VERIFY_RECOVER, CKA_DERIVE, CKA_TRUSTED
        object.set([0x10A], true)
        object.set([0x104, 0x106, 0x10B, 0x10C, 0x86], false)
        return object
    }

    /// The private key of a key pair, without anything secret.
    static func privateKey(of pair: KeyPair) -> ObjectAttributes {
        var object = ObjectAttributes(ObjectNumbers.privateKey, label: pair.alias, id: pair.idBytes)
        object.addKey(of: pair)
        // CKA_SENSITIVE, CKA_SIGN
        object.set([0x103, 0x108], true)
        // CKA_EXTRACTABLE. The vault does not know whether a key was made or imported, so these are not
        // claimed: CKA_LOCAL, CKA_NEVER_EXTRACTABLE, CKA_ALWAYS_SENSITIVE.
        object.set([0x162, 0x163, 0x164, 0x165], false)
        // CKA_DECRYPT, CKA_UNWRAP, CKA_SIGN_RECOVER, CKA_DERIVE, CKA_ALWAYS_AUTHENTICATE,
        // CKA_WRAP_WITH_TRUSTED
        object.set([0x105, 0x107, 0x109, 0x10C, 0x202, 0x210], false)
        return object
    }

    private mutating func addKey(of pair: KeyPair) {
        values[0x129] = pair.publicKey.subjectPublicKeyInfo
        if let own = pair.chain?.certificates.first, let parts = CertificateParts(der: own) {
            values[0x101] = parts.subject
        }
        switch pair.publicKey {
        case .ed25519(let key): addCurve(0x40, [0x06, 0x03, 0x2B, 0x65, 0x70], key)
        case .p256(let point):
            addCurve(0x03, [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07], point)
        case .p384(let point): addCurve(0x03, [0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x22], point)
        case .rsa(let key):
            values[0x100] = ObjectNumbers.bytes(0)
            values[0x120] = key.modulus
            values[0x121] = ObjectNumbers.bytes(UInt(key.size))
            values[0x122] = key.exponent
        }
    }

    /// Adds CKA_KEY_TYPE, CKA_EC_PARAMS and CKA_EC_POINT.
    private mutating func addCurve(_ type: UInt, _ curve: [UInt8], _ point: [UInt8]) {
        values[0x100] = ObjectNumbers.bytes(type)
        values[0x180] = curve
        values[0x181] = [0x04, UInt8(truncatingIfNeeded: point.count)] + point
    }
}

extension KeyPair {
    /// The identifier that the objects of the key pair share.
    fileprivate var idBytes: [UInt8] {
        let all = id.uuid
        return [
            all.0, all.1, all.2, all.3, all.4, all.5, all.6, all.7, all.8, all.9, all.10, all.11, all.12,
            all.13, all.14, all.15,
        ]
    }
}
