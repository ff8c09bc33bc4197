import Coffer
import CofferBase
import CofferCrypto
import CofferEngine

/// The flows of the cryptography alone.
extension SecretFlows {
    private static let salt = [UInt8](repeating: 7, count: 16)
    private static let uuid = "0F8FAD5B-D9CB-469F-A165-70867728950E"

    static let primitives: [String: Flow] = [
        "documented-key": { held, _ in
            try require(Insecure.DocumentedKey.key(uuid: uuid, passcode: held.secret).count == 32)
        },
        "passcode-hash": { held, _ in
            try require(Insecure.DocumentedKey.passcodeHash(of: held.secret).count == 44)
        },
        "documented-cbc": { held, _ in
            let key = try held.key()
            let message = try held.secret.exposing { (bytes) throws(CofferError) in
                try Insecure.DocumentedCBC.encrypt(bytes, key: key)
            }
            try require(Insecure.DocumentedCBC.decrypt(message.span, key: key).isEqual(to: held.secret))
        },
        "pbkdf2": { held, _ in
            for digest in [Digest.sha1, .sha256, .sha512] {
                let derived = try held.secret.exposing { (bytes) throws(CofferError) in
                    try PBKDF2.derive(
                        secret: bytes, salt: salt.span, rounds: 50, digest: digest, count: 64)
                }
                try require(derived.count == 64)
            }
        },
        "argon2id": { held, _ in
            try require(Argon2id.deriveKey(secret: held.secret, salt: salt.span, cost: .floor).count == 32)
        },
        "hkdf": { held, _ in
            let key = try held.key()
            try require(HKDF.derive(from: key, info: salt.span, digest: .sha512, count: 100).count == 100)
        },
        "hmac": { held, _ in
            let key = try held.key()
            try require(HMAC.authenticate(salt.span, key: key, digest: .sha512).count == 64)
        },
        "aead": { held, _ in
            let key = try held.key()
            for algorithm in [AEAD.Algorithm.aes256GCM, .chaCha20Poly1305, .xChaCha20Poly1305] {
                var aead = try AEAD.prepare(algorithm, key: key)
                let message = try held.secret.exposing { (bytes) throws(CofferError) in
                    try aead.seal(bytes)
                }
                try require(aead.open(message.span).isEqual(to: held.secret))
            }
        },
        "cbc-hmac": { held, _ in
            var scheme = try AuthenticatedCBC.prepare(key: held.key())
            var message = try held.secret.exposing { (bytes) throws(CofferError) in try scheme.seal(bytes) }
            try require(scheme.open(message.span).isEqual(to: held.secret))
            message[20] ^= 1
            do throws(CofferError) {
                _ = try scheme.open(message.span)
            } catch {
                return try require(error.code == .notAuthentic)
            }
            try require(false)
        },
        "key-wrap": { held, _ in
            let key = try held.key()
            let kek = try SymmetricKey.random()
            let wrapped = try KeyWrap.wrap(key, under: kek)
            try require(KeyWrap.unwrap(wrapped.span, under: kek).isEqual(to: key))
            let padded = try WrappedKey.wrap(key, under: kek, context: salt.span)
            try require(padded.unwrap(under: kek, context: salt.span).isEqual(to: key))
        },
        "sealed-box": { held, _ in
            let secretKey = try SymmetricKey.random()
            let publicKey = try SealedBox.publicKey(of: secretKey)
            let box = try held.secret.exposing { (bytes) throws(CofferError) in
                try SealedBox.seal(bytes, to: publicKey.span)
            }
            try require(SealedBox.open(box.span, secretKey: secretKey).isEqual(to: held.secret))
        },
        "signature": { held, _ in
            let seed = try held.key()
            try require(Ed25519.sign(salt.span, seed: seed).count == 64)
        },
        "digest-signature": { held, _ in
            // Printable bytes are below the order of either curve.
            for (algorithm, size) in [(SigningAlgorithm.p256, 32), (.p384, 48)] {
                let number = try held.secret.exposing { (bytes) throws(CofferError) in
                    try SecretBytes.copying(bytes.extracting(..<size))
                }
                let key = try SigningPrivateKey.make(algorithm, number)
                for count in [32, 48, 64] {
                    let digest = [UInt8](repeating: 7, count: count)
                    try require(key.sign(digest: digest.span, scheme: .ecdsa).count == 2 * size)
                }
            }
        },
        "key-file": { held, _ in
            let seed = try held.secret.exposing { (bytes) throws(CofferError) in
                try SecretBytes.copying(bytes.extracting(..<32))
            }
            let key = try SigningPrivateKey.make(.ed25519, seed)
            let passphrase = try SecretBytes.copying("a public passphrase")
            for form in KeyBundle.Form.allCases {
                let file = try KeyBundle.file(of: key, nil, name: "a", as: form, passphrase: passphrase)
                let bundle = try KeyBundle.reading(SecretBytes.copying(file.span)) {
                    () throws(CofferError) in try SecretBytes.copying("a public passphrase")
                }
                try require(bundle.publicKey == key.publicKey)
            }
        },
        "key-file-passphrase": { held, _ in
            let key = try SigningPrivateKey.generate(.p256)
            for form in KeyBundle.Form.allCases {
                let file = try KeyBundle.file(of: key, nil, name: "a", as: form, passphrase: held.secret)
                let bundle = try KeyBundle.reading(SecretBytes.copying(file.span)) {
                    () throws(CofferError) in
                    try held.secret.exposing { (bytes) throws(CofferError) in
                        try SecretBytes.copying(bytes)
                    }
                }
                try require(bundle.publicKey == key.publicKey)
            }
        },
    ]
}
