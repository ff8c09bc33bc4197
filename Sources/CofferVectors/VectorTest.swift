package import CofferBase
import CofferCrypto
import CofferEngine

/// The result of one test.
package enum VectorResult: Sendable {
    /// The library accepted the test and agreed in both directions.
    case agrees
    /// The library computed a value that differs from the file's.
    case unequal
    /// The library refused with this error and returned nothing.
    case refused(CofferError.Code)
    /// The library correctly refused a size that it does not support; the text states the size.
    case unsupported(String)
    /// The library does not offer the scheme, so nothing was run, whatever the file requires; the text states
    /// what is missing.
    case notOffered(String)
    /// The test is slow, and slow tests were not requested.
    case slow
    /// The library behaved in a way that is wrong regardless of what the file requires; the text describes
    /// the behavior.
    case wrong(String)
}

/// The procedure for the tests of one algorithm.
package struct VectorTest: Sendable {
    /// The permitted `type` values for a group of such tests.
    let groupTypes: Set<String>
    /// The name of a field in which every bit matters to a valid test. The negative control flips the field's
    /// last bit.
    let controlField: String
    /// The names of a test's fields.
    let fields: Set<String>
    /// For each flag of acceptable tests, whether the library accepts them. If there are decisions, an
    /// acceptable test without one of these flags fails, and so does one with the other result.
    let decisions: [String: Bool]?
    /// Runs one test against the library.
    let run: @Sendable (VectorCase, VectorRunner.Options) throws(MalformedVector) -> VectorResult

    package init(
        _ groupTypes: Set<String>, fields: Set<String>, control: String, decisions: [String: Bool]? = nil,
        run: @escaping @Sendable (VectorCase, VectorRunner.Options) throws(MalformedVector) -> VectorResult
    ) {
        self.groupTypes = groupTypes
        self.fields = fields
        controlField = control
        self.decisions = decisions
        self.run = run
    }

    /// Returns the procedure for the algorithm with this name in vector files; `nil` if the algorithm is not
    /// implemented.
    static func named(_ algorithm: String) -> VectorTest? { all[algorithm] }

    /// The names of all implemented algorithms, sorted.
    static var algorithms: [String] { all.keys.sorted() }

    private static let all: [String: VectorTest] = {
        var all: [String: VectorTest] = [
            "AES-CBC-PKCS5": blockCipher, "AES-GCM": gcm, "AES-WRAP": keyWrap, "AES-KWP": keyWrapPadded,
            "CHACHA20-POLY1305": aead(.chaCha20Poly1305), "XCHACHA20-POLY1305": aead(.xChaCha20Poly1305),
            "XAES-256-GCM": aead(.xaes256GCM), "EDDSA": signature, "DOCUMENTED-KEY": documentedKey,
            "DOCUMENTED-CBC": documentedCBC, "DOCUMENTED-PASSPHRASE": documentedPassphrase,
            "PBKDF2-CBC": pbkdf2CBC, "CBC-HMAC": authenticatedCBC, "AES-CMAC": cmac, "AES-GMAC": gmac,
            "AES-SIV": siv, "AES-SIV-CMAC": sivOfOneString, "AEAD-AES-SIV-CMAC": sivWithNonce,
            "A128CBC-HS256": jose(.a128CBCHS256), "A192CBC-HS384": jose(.a192CBCHS384),
            "A256CBC-HS512": jose(.a256CBCHS512), "ECDSA": ecdsa, "RSASSA-PKCS1-v1_5": rsa(.pkcs1),
            "RSASSA-PSS": rsa(.pss), "JWS": webSignature, "JWK-THUMBPRINT": thumbprint, "PKCE-S256": pkce,
            "AGE": age,
        ]
        for digest in Digest.allCases {
            let bits = digest == .sha1 ? 1 : digest.size * 8
            all["HMACSHA\(bits)"] = mac(digest)
            all["PBKDF2-HMACSHA\(bits)"] = pbkdf2(digest)
            if digest != .sha224 { all["HKDF-SHA-\(bits)"] = hkdf(digest) }
            for size in [128, 192, 256] {
                all["PbeWithHmacSha\(bits)AndAes_\(size)"] = passwordBased(digest, keySize: size / 8)
            }
        }
        return all
    }()
}

extension VectorTest {
    /// Runs `body` and returns the code of its error; `nil` if it succeeds.
    static func refusal(_ body: () throws(CofferError) -> Void) -> CofferError.Code? {
        do throws(CofferError) {
            try body()
            return nil
        } catch {
            return error.code
        }
    }

    /// Returns the result for a size that the library does not support: every direction must refuse it as
    /// invalid input.
    static func unsupported(_ reason: String, _ refusals: CofferError.Code?...) -> VectorResult {
        guard refusals.allSatisfy({ $0 == .invalidInput }) else {
            return .wrong("\(reason) is not refused as invalid input")
        }
        return .unsupported(reason)
    }

    /// Returns the result for a message that cannot be opened: only `notAuthentic` is allowed.
    static func notDecrypted(_ error: CofferError) -> VectorResult {
        guard error.code == .notAuthentic else {
            return .wrong("opening fails with \(error.code.name), not with notAuthentic")
        }
        return .refused(error.code)
    }

    /// Returns whether the secret bytes equal the bytes in the file.
    static func equal(_ secret: borrowing SecretBytes, _ bytes: [UInt8]) -> Bool {
        secret.exposing { span in span.copied() == bytes }
    }
}
