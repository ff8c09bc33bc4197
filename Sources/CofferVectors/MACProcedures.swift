import CofferBase
import CofferCrypto
import CofferEngine

/// The tests for MACs based on a block cipher, for AES-SIV and for JOSE's CBC with HMAC.
extension VectorTest {
    static let cmac = VectorTest(["MacTest"], fields: ["key", "msg", "tag"], control: "tag") {
        (test, _) throws(MalformedVector) in
        let (key, message) = (try test.bytes("key"), try test.bytes("msg"))
        let tag = try test.bytes("tag")
        guard [16, 24, 32].contains(key.count) else {
            return unsupported(
                "unsupported-key-size:\(key.count * 8)",
                refusal { () throws(CofferError) in
                    _ = try CMAC.authenticate(message.span, key: try SymmetricKey.copying(key.span))
                })
        }
        let bits = test.group["tagSize"]?.int ?? CMAC.tagSize * 8
        guard bits == CMAC.tagSize * 8 else { return .unsupported("unsupported-tag-size:\(bits)") }
        return authenticated(
            tag,
            { () throws(CofferError) in
                try CMAC.authenticate(message.span, key: try SymmetricKey.copying(key.span))
            },
            { () throws(CofferError) in
                try CMAC.isValid(tag.span, for: message.span, key: try SymmetricKey.copying(key.span))
            })
    }

    static let gmac = VectorTest(
        ["MacWithIvTest"], fields: ["key", "iv", "msg", "tag"], control: "tag"
    ) { (test, _) throws(MalformedVector) in
        let (key, nonce) = (try test.bytes("key"), try test.bytes("iv"))
        let (message, tag) = (try test.bytes("msg"), try test.bytes("tag"))
        if ![16, 24, 32].contains(key.count) || nonce.count != GMAC.nonceSize {
            let reason =
                nonce.count != GMAC.nonceSize
                ? "unsupported-iv-size:\(nonce.count * 8)" : "unsupported-key-size:\(key.count * 8)"
            return unsupported(
                reason,
                refusal { () throws(CofferError) in
                    _ = try GMAC.authenticate(
                        message.span, nonce: nonce.span, key: try SymmetricKey.copying(key.span))
                })
        }
        let bits = test.group["tagSize"]?.int ?? GMAC.tagSize * 8
        guard bits == GMAC.tagSize * 8 else { return .unsupported("unsupported-tag-size:\(bits)") }
        return authenticated(
            tag,
            { () throws(CofferError) in
                try GMAC.authenticate(
                    message.span, nonce: nonce.span, key: try SymmetricKey.copying(key.span))
            },
            { () throws(CofferError) in
                try GMAC.isValid(
                    tag.span, for: message.span, nonce: nonce.span, key: try SymmetricKey.copying(key.span))
            })
    }

    /// The procedure for this package's own files, with any number of strings of associated data.
    static let siv = VectorTest(
        ["SivTest"], fields: ["key", "strings", "msg", "ct"], control: "ct"
    ) { (test, _) throws(MalformedVector) in
        try sealedBySIV(test, try test.byteStrings("strings"), try test.bytes("ct"))
    }

    /// The procedure for Wycheproof's files with one string; the synthetic IV precedes the ciphertext.
    static let sivOfOneString = VectorTest(
        ["DaeadTest"], fields: ["key", "aad", "msg", "ct"], control: "ct"
    ) { (test, _) throws(MalformedVector) in
        try sealedBySIV(test, [try test.bytes("aad")], try test.bytes("ct"))
    }

    /// The procedure for Wycheproof's files with a nonce as the last string; the synthetic IV is the tag.
    static let sivWithNonce = VectorTest(
        ["AeadTest"], fields: ["key", "iv", "aad", "msg", "ct", "tag"], control: "tag"
    ) { (test, _) throws(MalformedVector) in
        try sealedBySIV(
            test, [try test.bytes("aad"), try test.bytes("iv")], try test.bytes("tag") + test.bytes("ct"))
    }

    private static func sealedBySIV(
        _ test: VectorCase, _ strings: [[UInt8]], _ sealed: [UInt8]
    ) throws(MalformedVector) -> VectorResult {
        let (key, plaintext) = (try test.bytes("key"), try test.bytes("msg"))
        guard [32, 48, 64].contains(key.count) else {
            return unsupported(
                "unsupported-key-size:\(key.count * 8)",
                refusal { () throws(CofferError) in
                    _ = try SIV.prepare(key: try SymmetricKey.copying(key.span))
                })
        }
        do throws(CofferError) {
            var scheme = try SIV.prepare(key: try SymmetricKey.copying(key.span))
            let opened = try scheme.open(sealed.span, associatedData: strings)
            guard equal(opened, plaintext) else { return .wrong("it opens to a different plaintext") }
            let again = try scheme.seal(plaintext.span, associatedData: strings)
            return again == sealed ? .agrees : .wrong("sealing produces different bytes")
        } catch {
            return notDecrypted(error)
        }
    }

    static func jose(_ algorithm: JOSECBC.Algorithm) -> VectorTest {
        VectorTest(["AeadTest"], fields: ["key", "iv", "aad", "msg", "ct", "tag"], control: "tag") {
            (test, _) throws(MalformedVector) in
            let (key, iv, aad) = (try test.bytes("key"), try test.bytes("iv"), try test.bytes("aad"))
            let (plaintext, ciphertext) = (try test.bytes("msg"), try test.bytes("ct"))
            let tag = try test.bytes("tag")
            guard key.count == algorithm.keySize else {
                return unsupported(
                    "unsupported-key-size:\(key.count * 8)",
                    refusal { () throws(CofferError) in
                        _ = try JOSECBC.prepare(algorithm, key: try SymmetricKey.copying(key.span))
                    })
            }
            do throws(CofferError) {
                var scheme = try JOSECBC.prepare(algorithm, key: try SymmetricKey.copying(key.span))
                let opened = try scheme.open(
                    ciphertext.span, tag: tag.span, iv: iv.span, associatedData: aad.span)
                guard equal(opened, plaintext) else { return .wrong("it opens to a different plaintext") }
                let sealed = try scheme.seal(plaintext.span, choosingIV: iv.span, associatedData: aad.span)
                return sealed.ciphertext == ciphertext && sealed.tag == tag
                    ? .agrees : .wrong("sealing produces different bytes")
            } catch {
                return notDecrypted(error)
            }
        }
    }

    /// Computes the tag and verifies the expected one; both results must agree.
    private static func authenticated(
        _ tag: [UInt8], _ make: () throws(CofferError) -> [UInt8],
        _ check: () throws(CofferError) -> Bool
    ) -> VectorResult {
        do throws(CofferError) {
            let computed = try make()
            guard try check() == (computed == tag) else {
                return .wrong("computing and verifying do not agree")
            }
            return computed == tag ? .agrees : .refused(.notAuthentic)
        } catch {
            return .wrong("it fails with \(error.code.name)")
        }
    }
}
