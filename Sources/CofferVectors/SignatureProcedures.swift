import CofferBase
import CofferCrypto

/// The tests for ECDSA, RSA and JOSE.
extension VectorTest {
    /// The procedure for signatures in DER and, by the type of the group, in the form with fixed sizes.
    static let ecdsa = VectorTest(
        ["EcdsaVerify", "EcdsaP1363Verify"], fields: ["msg", "sig"], control: "sig"
    ) { (test, _) throws(MalformedVector) in
        let (message, signature) = (try test.bytes("msg"), try test.bytes("sig"))
        let key = test.group["publicKey"]
        guard let publicKey = key?["uncompressed"]?.string.flatMap({ HexText.decode($0) }) else {
            throw MalformedVector("the group has no public key")
        }
        guard isText("secp256r1", key?["curve"]), isText("SHA-256", test.group["sha"]) else {
            return .unsupported("unsupported-curve-or-hash")
        }
        let isFixed = isText("EcdsaP1363Verify", test.group["type"])
        guard let raw = isFixed ? signature : ECDSAP256.signature(der: signature.span) else {
            return .refused(.notAuthentic)
        }
        return verified { () throws(CofferError) in
            try ECDSAP256.isValid(signature: raw.span, for: message.span, publicKey: publicKey.span)
        }
    }

    static func rsa(_ padding: RSASignature.Padding) -> VectorTest {
        let type = padding == .pkcs1 ? "RsassaPkcs1Verify" : "RsassaPssVerify"
        return VectorTest([type], fields: ["msg", "sig"], control: "sig") {
            (test, _) throws(MalformedVector) in
            let (message, signature) = (try test.bytes("msg"), try test.bytes("sig"))
            guard isText("SHA-256", test.group["sha"]) else { return .unsupported("unsupported-hash") }
            if padding == .pss {
                guard isText("MGF1", test.group["mgf"]), isText("SHA-256", test.group["mgfSha"]),
                    test.group["sLen"]?.int == Digest.sha256.size
                else { return .unsupported("unsupported-salt-or-mask") }
            }
            let modulus = try number("modulus", test)
            let exponent = try number("publicExponent", test)
            do throws(CofferError) {
                let key = try RSASignature.PublicKey(modulus: modulus, exponent: exponent)
                return verified { () throws(CofferError) in
                    try RSASignature.isValid(
                        signature: signature.span, for: message.span, publicKey: key, padding: padding)
                }
            } catch {
                return .unsupported("unsupported-key:\(modulus.count * 8):\(HexText.encode(exponent))")
            }
        }
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

    /// Returns a number of the group's public key without the zero bytes in front.
    private static func number(_ name: String, _ test: VectorCase) throws(MalformedVector) -> [UInt8] {
        guard let bytes = test.group["publicKey"]?[name]?.string.flatMap({ HexText.decode($0) }) else {
            throw MalformedVector("the group has no public key")
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
