import CofferBase
import CofferCrypto

/// The tests for EdDSA, ECDSA, RSA and JOSE.
///
/// A scheme, curve or hash that the library does not offer is never run, and counts as skipped, also where
/// the file requires a refusal: a signature that nobody looked at was not refused.
extension VectorTest {
    /// The procedure for Ed25519, which also signs if the group has a private key.
    ///
    /// What is decided for acceptable tests: libsodium refuses public keys and parts of signatures of small
    /// order, with which one signature is valid for many messages. It takes other keys outside the subgroup
    /// of prime order, which only their owner can make, if the equation is right without the cofactor.
    static let signature = VectorTest(
        ["EddsaVerify", "EddsaVer"], fields: ["msg", "sig"], control: "sig",
        decisions: ["SmallOrderPublicKey": false, "SmallOrderR": false, "MixedOrderPublicKey": true]
    ) { (test, _) throws(MalformedVector) in
        let (message, signature) = (try test.bytes("msg"), try test.bytes("sig"))
        let key = test.group["publicKey"]
        guard let publicKey = (key?["pk"]?.string ?? key?.string).flatMap({ HexText.decode($0) }) else {
            throw MalformedVector("the group has no public key")
        }
        if let curve = key?["curve"], !isText("edwards25519", curve) {
            return .notOffered("unsupported-curve")
        }
        let signing = test.group["privateKey"]
        let seed = (signing?["sk"]?.string ?? signing?.string).flatMap { HexText.decode($0) }
        do throws(CofferError) {
            guard
                try Ed25519.isValid(
                    signature: signature.span, for: message.span, publicKey: publicKey.span)
            else { return .refused(.notAuthentic) }
            guard let seed else { return .agrees }
            let secret = try SymmetricKey.copying(seed.span)
            let own = try Ed25519.publicKey(seed: secret)
            let made = try Ed25519.sign(message.span, seed: secret)
            return own == publicKey && made == signature
                ? .agrees : .wrong("signing produces different bytes")
        } catch {
            return .wrong("it fails with \(error.code.name)")
        }
    }

    /// The procedure for signatures in DER and, by the type of the group, in the form with fixed sizes. There
    /// is no flag whose tests may be accepted or refused.
    static let ecdsa = VectorTest(
        ["EcdsaVerify", "EcdsaP1363Verify", "EcdsaBitcoinVerify"], fields: ["msg", "sig"], control: "sig",
        decisions: [:]
    ) { (test, _) throws(MalformedVector) in
        let (message, signature) = (try test.bytes("msg"), try test.bytes("sig"))
        let (type, key) = (test.group["type"], test.group["publicKey"])
        guard let publicKey = key?["uncompressed"]?.string.flatMap({ HexText.decode($0) }) else {
            throw MalformedVector("the group has no public key")
        }
        guard isText("secp256r1", key?["curve"]) else { return .notOffered("unsupported-curve") }
        guard isText("SHA-256", test.group["sha"]) else { return .notOffered("unsupported-hash") }
        // Bitcoin permits only one of s and its negation; FIPS 186-5 and JOSE permit both.
        if isText("EcdsaBitcoinVerify", type) { return .notOffered("unsupported-type") }
        let isFixed = isText("EcdsaP1363Verify", type)
        guard let raw = isFixed ? signature : ECDSAP256.signature(der: signature.span) else {
            return .refused(.notAuthentic)
        }
        return verified { () throws(CofferError) in
            try ECDSAP256.isValid(signature: raw.span, for: message.span, publicKey: publicKey.span)
        }
    }

    /// The procedure for RSA signatures, and for making those that have only one form.
    ///
    /// What is decided for acceptable tests: a digest without the `NULL` that RFC 8017 prescribes is refused,
    /// because a signature has exactly one encoding. Parameters inside the encoding of a public key are not
    /// read; those of the group are the same.
    static func rsa(_ padding: RSASignature.Padding) -> VectorTest {
        let types: Set<String> =
            padding == .pkcs1
            ? ["RsassaPkcs1Verify", generation] : ["RsassaPssVerify", "RsassaPssWithParametersVerify"]
        return VectorTest(
            types, fields: ["msg", "sig"], control: "sig", decisions: ["MissingNull": false]
        ) { (test, _) throws(MalformedVector) in
            let (message, signature) = (try test.bytes("msg"), try test.bytes("sig"))
            guard isText("SHA-256", test.group["sha"]) else { return .notOffered("unsupported-hash") }
            if padding == .pss {
                guard isText("MGF1", test.group["mgf"]), isText("SHA-256", test.group["mgfSha"]),
                    test.group["sLen"]?.int == Digest.sha256.size
                else { return .notOffered("unsupported-salt-or-mask") }
            }
            if isText(generation, test.group["type"]) { return try signed(signature, for: message, test) }
            let modulus = try number("modulus", of: "publicKey", test)
            let exponent = try number("publicExponent", of: "publicKey", test)
            do throws(CofferError) {
                let key = try RSASignature.PublicKey(modulus: modulus, exponent: exponent)
                return verified { () throws(CofferError) in
                    try RSASignature.isValid(
                        signature: signature.span, for: message.span, publicKey: key, padding: padding)
                }
            } catch {
                return unsupported(reason(modulus, exponent), error.code)
            }
        }
    }

    /// The type of groups with private keys, whose signatures the library must make byte for byte.
    private static let generation = "RsassaPkcs1Generate"

    /// Signs with the group's private key and compares the signature with the expected one, which depends on
    /// nothing else.
    private static func signed(
        _ expected: [UInt8], for message: [UInt8], _ test: VectorCase
    ) throws(MalformedVector) -> VectorResult {
        guard let file = test.group["privateKeyPkcs8"]?.string.flatMap({ HexText.decode($0) }) else {
            throw MalformedVector("the group has no private key")
        }
        let modulus = try number("modulus", of: "privateKey", test)
        let exponent = try number("publicExponent", of: "privateKey", test)
        let refused = refusal { () throws(CofferError) in
            _ = try RSASignature.privateKey(importing: try SecretBytes.copying(file.span))
        }
        if let refused { return unsupported(reason(modulus, exponent), refused) }
        do throws(CofferError) {
            let key = try RSASignature.privateKey(importing: try SecretBytes.copying(file.span))
            let own = try RSASignature.publicKey(privateKey: key)
            guard own.modulus == modulus, own.exponent == exponent else {
                return .wrong("the private key has other public numbers")
            }
            let made = try RSASignature.sign(message.span, privateKey: key, padding: .pkcs1)
            let isValid = try RSASignature.isValid(
                signature: made.span, for: message.span, publicKey: own, padding: .pkcs1)
            guard isValid else { return .wrong("it does not verify what it signed") }
            return made == expected ? .agrees : .unequal
        } catch {
            return .wrong("it fails with \(error.code.name)")
        }
    }

    /// Returns the code for an RSA key of a size or with an exponent that the library refuses.
    private static func reason(_ modulus: [UInt8], _ exponent: [UInt8]) -> String {
        "unsupported-key:\(modulus.count * 8):\(HexText.encode(Array(exponent.suffix(8))))"
    }

    /// The procedure for signed tokens, with the set of keys as JSON text.
    static let webSignature = VectorTest(
        ["JwsVerify"], fields: ["jws", "keys", "typ", "claims"], control: "jws"
    ) { (test, _) throws(MalformedVector) in
        let (token, keys) = (try test.bytes("jws"), try test.bytes("keys"))
        let (type, claims) = (try test.text("typ"), try test.bytes("claims"))
        do throws(CofferError) {
            let verified = try JSONWebToken(
                verifying: try SecretBytes.copying(token.span),
                keys: try JSONWebKeySet(parsing: keys), types: [type])
            return verified.claims == (try JSONValue(parsing: claims)) ? .agrees : .unequal
        } catch {
            return [.notAuthentic, .invalidInput].contains(error.code)
                ? .refused(error.code) : .wrong("it fails with \(error.code.name)")
        }
    }

    static let thumbprint = VectorTest(
        ["JwkThumbprint"], fields: ["jwk", "thumbprint"], control: "thumbprint"
    ) { (test, _) throws(MalformedVector) in
        let (text, expected) = (try test.bytes("jwk"), try test.bytes("thumbprint"))
        do throws(CofferError) {
            let key = try JSONWebKey(parsing: try JSONValue(parsing: text))
            return try Base64URL.decode(try key.thumbprint()) == expected ? .agrees : .unequal
        } catch {
            return error.code == .invalidInput
                ? .refused(error.code) : .wrong("it fails with \(error.code.name)")
        }
    }

    static let pkce = VectorTest(
        ["PkceTest"], fields: ["verifier", "challenge"], control: "challenge"
    ) { (test, _) throws(MalformedVector) in
        let (verifier, challenge) = (try test.bytes("verifier"), try test.bytes("challenge"))
        do throws(CofferError) {
            let proof = try PKCE.make(verifier: try SecretBytes.copying(verifier.span))
            return Array(proof.challenge.utf8) == challenge ? .agrees : .unequal
        } catch {
            return error.code == .invalidInput
                ? .refused(error.code) : .wrong("it fails with \(error.code.name)")
        }
    }

    private static func isText(_ text: String, _ value: JSONValue?) -> Bool {
        value?.string?.hasSameBytes(as: text) == true
    }

    /// Returns a number of one of the group's keys without the zero bytes in front.
    private static func number(
        _ name: String, of key: String, _ test: VectorCase
    ) throws(MalformedVector) -> [UInt8] {
        guard let bytes = test.group[key]?[name]?.string.flatMap({ HexText.decode($0) }) else {
            throw MalformedVector("the group has no complete \(key)")
        }
        return Array(bytes.drop { $0 == 0 })
    }

    private static func verified(_ check: () throws(CofferError) -> Bool) -> VectorResult {
        do throws(CofferError) {
            return try check() ? .agrees : .refused(.notAuthentic)
        } catch {
            return .wrong("it fails with \(error.code.name)")
        }
    }
}
