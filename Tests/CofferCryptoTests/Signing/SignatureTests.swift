import CofferBase
import CofferCrypto
import Testing
import TestSupport

@Suite("ECDSA over P-256")
struct ECDSAP256Tests {
    private let order = [UInt8](hex: "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
    private let message = [UInt8].counting(10)

    @Test("Bytes that are no private key are refused: 0, the order and above, other sizes")
    func refusesKeys() throws {
        let zero = [UInt8](repeating: 0, count: 32)
        let wrong: [[UInt8]] = [
            zero, order, [UInt8](repeating: 0xFF, count: 32), [], .counting(31), .counting(33),
        ]
        for bytes in wrong {
            let key = try SecretBytes.copying(bytes.span)
            #expect(failure { _ = try ECDSAP256.publicKey(privateKey: key) } == .invalidInput)
            #expect(failure { _ = try ECDSAP256.sign(message.span, privateKey: key) } == .invalidInput)
        }
    }

    @Test("A file with another key, a truncated file and other files are refused")
    func refusesFiles() throws {
        let other = SigningKeys.p256.replacing("bK0kXY02", with: "bK0kXY03")
        for text in [other, String(SigningKeys.p256.dropLast(60)), SigningKeys.rsa, "", "-----BEGIN", "0"] {
            let file = try SecretBytes.copying(text)
            #expect(failure { _ = try ECDSAP256.privateKey(importing: file) } == .invalidInput, "\(text)")
        }
    }

    @Test("r or s of 0 or of the order, and a flipped bit, make a signature invalid")
    func refusesSignatures() throws {
        let key = try ECDSAP256.generate()
        let publicKey = try ECDSAP256.publicKey(privateKey: key)
        let signature = try ECDSAP256.sign(message.span, privateKey: key)
        func isValid(_ signature: [UInt8]) throws -> Bool {
            try ECDSAP256.isValid(signature: signature.span, for: message.span, publicKey: publicKey.span)
        }
        #expect(try isValid(signature))
        let (r, s) = (Array(signature[..<32]), Array(signature[32...]))
        for number in [[UInt8](repeating: 0, count: 32), order] {
            #expect(try !isValid(number + s))
            #expect(try !isValid(r + number))
        }
        for other in signature.withEachBitFlipped { #expect(try !isValid(other)) }
        for size in [0, 32, 63] { #expect(try !isValid(Array(signature[..<size]))) }
        #expect(try !isValid(signature + [0]))
    }

    @Test("A point off the curve, compressed or of another size is no public key")
    func refusesPoints() throws {
        let publicKey = try ECDSAP256.publicKey(privateKey: try ECDSAP256.generate())
        let isRight = ECDSAP256.isPublicKey(publicKey.span)
        #expect(isRight)
        let zeros = [UInt8](repeating: 0, count: 64)
        let wrong: [[UInt8]] = [
            [0], [4] + zeros, Array(publicKey.dropLast()), [2] + Array(publicKey[1..<33]), publicKey + [0],
        ]
        for bytes in wrong {
            let isPublicKey = ECDSAP256.isPublicKey(bytes.span)
            #expect(!isPublicKey, "\(bytes.count)")
        }
    }

    @Test("DER and the form with fixed sizes are converted into each other; only DER is read")
    func encodings() throws {
        let numbers: [[UInt8]] = [
            [UInt8](repeating: 0, count: 31) + [1], [UInt8](repeating: 0, count: 31) + [0x80], order,
        ]
        for r in numbers {
            for s in numbers {
                let raw = r + s
                let der = ECDSAP256.der(raw.span) ?? []
                let again = ECDSAP256.signature(der: der.span)
                #expect(again == raw)
            }
        }
        for text in [
            "", "30", "3006020101020101ff", "30070201010202", "30080202000102020001", "3006020181020101",
        ] {
            let bytes = [UInt8](hex: text)
            let signature = ECDSAP256.signature(der: bytes.span)
            #expect(signature == nil, "\(text)")
        }
    }
}

@Suite("RSA signatures")
struct RSASignatureTests {
    private let message = [UInt8].counting(10)

    @Test("Small, large and even numbers are no public key")
    func refusesNumbers() throws {
        let modulus: [UInt8] = [0x80] + [UInt8](repeating: 0, count: 254) + [1]
        #expect(failure { _ = try RSASignature.PublicKey(modulus: modulus, exponent: [1, 0, 1]) } == nil)
        let exponents: [[UInt8]] = [
            [], [1], [3], [0xFF, 0xFF], [1, 0, 0], [0, 1, 0, 1], [UInt8](repeating: 1, count: 9),
        ]
        for exponent in exponents {
            let code = failure { _ = try RSASignature.PublicKey(modulus: modulus, exponent: exponent) }
            #expect(code == .invalidInput, "\(exponent)")
        }
        let wrong: [[UInt8]] = [
            [], [0] + modulus, Array(modulus[128...]), [0x7F] + Array(modulus[1...]),
            Array(modulus[..<255]) + [2],
            [1] + [UInt8](repeating: 1, count: 1024),
        ]
        for other in wrong {
            let code = failure { _ = try RSASignature.PublicKey(modulus: other, exponent: [1, 0, 1]) }
            #expect(code == .invalidInput, "\(other.count)")
        }
    }

    @Test("A damaged file and a file of another kind are refused")
    func refusesFiles() throws {
        for text in [SigningKeys.p256, SigningKeys.ed25519, String(SigningKeys.rsa.dropLast(100)), ""] {
            let file = try SecretBytes.copying(text)
            #expect(failure { _ = try RSASignature.privateKey(importing: file) } == .invalidInput)
        }
    }

    @Test(
        "A signature verifies with its padding only, unchanged and whole",
        arguments: RSASignature.Padding.allCases)
    func signatures(_ padding: RSASignature.Padding) throws {
        let key = try RSASignature.privateKey(importing: try SecretBytes.copying(SigningKeys.rsa))
        let publicKey = try RSASignature.publicKey(privateKey: key)
        #expect(publicKey.size == 2048)
        let signature = try RSASignature.sign(message.span, privateKey: key, padding: padding)
        for other in RSASignature.Padding.allCases {
            let isValid = try RSASignature.isValid(
                signature: signature.span, for: message.span, publicKey: publicKey, padding: other)
            #expect(isValid == (other == padding))
        }
        let changed = [signature[0] ^ 1] + Array(signature[1...])
        let wrong: [[UInt8]] = [[], Array(signature.dropLast()), signature + [0], [0] + signature, changed]
        for bad in wrong {
            let isValid = try RSASignature.isValid(
                signature: bad.span, for: message.span, publicKey: publicKey, padding: padding)
            #expect(!isValid)
        }
    }
}
