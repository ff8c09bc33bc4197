import CofferBase
import CofferCrypto
import CofferEngine

/// The tests for authenticated ciphers: AES-GCM, ChaCha20-Poly1305, XChaCha20-Poly1305, XAES-256-GCM and CBC
/// with HMAC.
extension VectorTest {
    static let gcm = VectorTest(
        ["AeadTest"], fields: ["key", "iv", "aad", "msg", "ct", "tag"], control: "tag"
    ) { (test, _) throws(MalformedVector) in
        let algorithm: AEAD.Algorithm =
            switch try test.bytes("key").count {
            case 16: .aes128GCM
            case 24: .aes192GCM
            default: .aes256GCM
            }
        return try AEADCase(test, algorithm).observe()
    }

    static func aead(_ algorithm: AEAD.Algorithm) -> VectorTest {
        VectorTest(
            ["AeadTest"], fields: ["key", "iv", "aad", "msg", "ct", "tag"], control: "tag"
        ) { (test, _) throws(MalformedVector) in
            try AEADCase(test, algorithm).observe()
        }
    }

    static let authenticatedCBC = VectorTest(
        ["AeadTest", "CbcHmacTest"], fields: ["key", "iv", "aad", "msg", "ct", "tag"], control: "tag"
    ) { (test, _) throws(MalformedVector) in
        let (key, iv, aad) = (try test.bytes("key"), try test.bytes("iv"), try test.bytes("aad"))
        let message = iv + (try test.bytes("ct")) + (try test.bytes("tag"))
        let plaintext = try test.bytes("msg")
        guard key.count == 32 else {
            return unsupported(
                "unsupported-key-size:\(key.count * 8)",
                refusal { () throws(CofferError) in
                    _ = try AuthenticatedCBC.prepare(key: try SymmetricKey.copying(key.span))
                })
        }
        do throws(CofferError) {
            var scheme = try AuthenticatedCBC.prepare(key: try SymmetricKey.copying(key.span))
            // The IV is the message's first 16 bytes, so no other size can be passed to the library for
            // opening.
            guard iv.count == AuthenticatedCBC.ivSize else {
                return unsupported(
                    "unsupported-iv-size:\(iv.count * 8)",
                    refusal { () throws(CofferError) in
                        _ = try scheme.seal(plaintext.span, choosingIV: iv.span, associatedData: aad.span)
                    })
            }
            let opened = try scheme.open(message.span, associatedData: aad.span)
            guard equal(opened, plaintext) else { return .wrong("it opens to a different plaintext") }
            let sealed = try scheme.seal(plaintext.span, choosingIV: iv.span, associatedData: aad.span)
            return sealed == message ? .agrees : .wrong("sealing produces different bytes")
        } catch {
            return notDecrypted(error)
        }
    }
}

/// One test of an AEAD, which seals and opens a message.
private struct AEADCase {
    let algorithm: AEAD.Algorithm
    let key: [UInt8]
    let nonce: [UInt8]
    let associatedData: [UInt8]
    let plaintext: [UInt8]
    let tagSize: Int
    let sealed: [UInt8]

    init(_ test: VectorCase, _ algorithm: AEAD.Algorithm) throws(MalformedVector) {
        self.algorithm = algorithm
        key = try test.bytes("key")
        nonce = try test.bytes("iv")
        associatedData = try test.bytes("aad")
        plaintext = try test.bytes("msg")
        let tag = try test.bytes("tag")
        tagSize = tag.count
        sealed = try test.bytes("ct") + tag
    }

    func observe() -> VectorResult {
        let opening = VectorTest.refusal { () throws(CofferError) in _ = try open(sealed) }
        if key.count != algorithm.keySize {
            return VectorTest.unsupported("unsupported-key-size:\(key.count * 8)", opening, sealing())
        }
        if nonce.count != algorithm.nonceSize {
            // The library refuses a message that is too short for a tag before it checks the nonce. Zeros in
            // place of the missing bytes leave the nonce as the only error.
            let opening = VectorTest.refusal { () throws(CofferError) in
                _ = try open(sealed + [UInt8](repeating: 0, count: max(0, AEAD.tagSize - sealed.count)))
            }
            return VectorTest.unsupported("unsupported-iv-size:\(nonce.count * 8)", opening, sealing())
        }
        if tagSize != AEAD.tagSize {
            guard opening == .notAuthentic else {
                return .wrong("a tag of \(tagSize * 8) bits is not refused as not authentic")
            }
            return .unsupported("unsupported-tag-size:\(tagSize * 8)")
        }
        do throws(CofferError) {
            guard try open(sealed) == plaintext else { return .wrong("it opens to a different plaintext") }
            return try seal() == sealed ? .agrees : .wrong("sealing produces different bytes")
        } catch {
            return VectorTest.notDecrypted(error)
        }
    }

    private func sealing() -> CofferError.Code? {
        VectorTest.refusal { () throws(CofferError) in _ = try seal() }
    }

    private func seal() throws(CofferError) -> [UInt8] {
        var aead = try UnsafeNonceAEAD.prepare(algorithm, key: try SymmetricKey.copying(key.span))
        var output = [UInt8](repeating: 0, count: plaintext.count + AEAD.tagSize)
        var span = output.mutableSpan
        try aead.seal(
            plaintext.span, nonce: nonce.span, associatedData: associatedData.span, into: &span)
        return output
    }

    /// Opens a message. If that fails, checks that the output buffer contains only zeros.
    private func open(_ sealed: [UInt8]) throws(CofferError) -> [UInt8] {
        var aead = try AEAD.prepare(algorithm, key: try SymmetricKey.copying(key.span))
        var output = [UInt8](repeating: 0, count: max(0, sealed.count - AEAD.tagSize))
        do throws(CofferError) {
            var span = output.mutableSpan
            try aead.open(
                sealed.span, nonce: nonce.span, associatedData: associatedData.span, into: &span)
        } catch {
            guard output.allSatisfy({ $0 == 0 }) else {
                throw CofferError(.internalFailure, "A message that failed to open still produced plaintext.")
            }
            throw error
        }
        return output
    }
}
