import CofferBase
import CofferCrypto
import CofferEngine
import Testing

@Suite("Files with private keys")
struct KeyBundleTests {
    private static let passphrase = "a long passphrase, ü𝄞"
    private static let algorithms: [SigningAlgorithm] = [.ed25519, .p256, .p384]

    private func file(
        _ held: HeldPrivateKey, as form: KeyBundle.Form, passphrase: String = Self.passphrase
    ) throws -> [UInt8] {
        try KeyBundle.file(
            of: held.key, nil, name: "näme", as: form, passphrase: try SecretBytes.copying(passphrase))
    }

    private func read(
        _ file: [UInt8], as form: KeyBundle.Form? = nil, passphrase: String = Self.passphrase
    ) throws(CofferError) -> KeyBundle {
        try KeyBundle.reading(try SecretBytes.copying(file.span), as: form) { () throws(CofferError) in
            try SecretBytes.copying(passphrase)
        }
    }

    private func code(_ body: () throws(CofferError) -> Void) -> CofferError.Code? {
        do throws(CofferError) {
            try body()
            return nil
        } catch {
            return error.code
        }
    }

    @Test("What is written is read again, and only with its passphrase", arguments: algorithms)
    func roundTrip(_ algorithm: SigningAlgorithm) throws {
        let held = HeldPrivateKey(try SigningPrivateKey.generate(algorithm))
        let publicKey = held.key.publicKey
        for form in KeyBundle.Form.allCases {
            let file = try file(held, as: form)
            let bundle = try read(file, as: form)
            #expect(bundle.publicKey == publicKey && bundle.chain == nil && bundle.others.isEmpty)
            let isSame = try bundle.held.key.pkcs8().isEqual(to: held.key.pkcs8())
            #expect(isSame)
            let wrong = code { () throws(CofferError) in _ = try read(file, passphrase: "another") }
            #expect(wrong == .notAuthentic)
            for other in KeyBundle.Form.allCases where other != form {
                #expect(code { () throws(CofferError) in _ = try read(file, as: other) } == .invalidInput)
            }
        }
    }

    @Test("A new file needs a passphrase of 12 bytes of UTF-8")
    func passphrases() throws {
        let held = HeldPrivateKey(try SigningPrivateKey.generate(.ed25519))
        for form in KeyBundle.Form.allCases {
            for short in ["", "eleven byte"] {
                #expect(throws: CofferError.self) { try file(held, as: form, passphrase: short) }
            }
            let bytes = [UInt8](repeating: 0xFF, count: 20)
            #expect(throws: CofferError.self) {
                try KeyBundle.file(
                    of: held.key, nil, name: "a", as: form, passphrase: try SecretBytes.copying(bytes.span))
            }
        }
    }

    @Test("No part of an unencrypted key is read as a whole one, and no byte may follow it")
    func truncated() throws {
        for algorithm in Self.algorithms {
            let held = HeldPrivateKey(try SigningPrivateKey.generate(algorithm))
            let whole = try held.key.pkcs8().exposing { $0.copied() }
            let publicKey = held.key.publicKey
            #expect(try read(whole).publicKey == publicKey)
            for count in 0..<whole.count {
                let cut = Array(whole[..<count])
                #expect(code { () throws(CofferError) in _ = try read(cut) } == .invalidInput, "\(count)")
            }
            #expect(code { () throws(CofferError) in _ = try read(whole + [0]) } == .invalidInput)
            let padded = whole + [UInt8](repeating: 0, count: KeyBundle.largestSize + 1 - whole.count)
            #expect(code { () throws(CofferError) in _ = try read(padded) } == .invalidInput)
        }
    }

    private func certificate(
        _ key: borrowing SigningPrivateKey, from start: Int64
    ) throws -> [UInt8] {
        try CertificateWriter.selfSigned(
            key, CertificateSubject(commonName: "ada"), [], .client, from: start, days: 10)
    }

    @Test("Of several certificates for the key, the one that ends last is taken, in any order")
    func renewed() throws {
        let held = HeldPrivateKey(try SigningPrivateKey.generate(.p256))
        let key = try CertificatePEM.pem(held.key.pkcs8().exposing { $0.copied() }, "PRIVATE KEY")
        let old = try certificate(held.key, from: 1_700_000_000)
        let new = try certificate(held.key, from: 1_800_000_000)
        for order in [[old, new], [new, old], [old, new, new], [old, old, new]] {
            let certificates = try order.map { try CertificatePEM.pem($0, "CERTIFICATE") }
            let bundle = try read(Array((key + certificates.joined()).utf8))
            #expect(bundle.chain?.certificates == [new])
            // The same one again is not something else.
            let count = order.count { $0 == old }
            #expect(bundle.others == [String](repeating: "certificate of CN=ada", count: count))
        }
    }

    @Test("Blanks, a mark at the beginning and other text hide no block in PEM")
    func spellings() throws {
        let held = HeldPrivateKey(try SigningPrivateKey.generate(.p256))
        let publicKey = held.key.publicKey
        let key = try CertificatePEM.pem(held.key.pkcs8().exposing { $0.copied() }, "PRIVATE KEY")
        let der = try certificate(held.key, from: 1_800_000_000)
        let certificate = try CertificatePEM.pem(der, "CERTIFICATE")
        for text in [key + certificate, certificate + key] {
            let forms = [
                text, "0 a key\n" + text, text.replacing("\n", with: " \t\r\n"),
                "  " + text.replacing("\n", with: "\n  "),
            ]
            for form in forms {
                for start in ["", "\u{FEFF}"] {
                    let bundle = try read(Array((start + form).utf8))
                    #expect(bundle.publicKey == publicKey && bundle.chain?.certificates == [der])
                }
            }
        }
    }

    @Test("A public key beside the private one must be its own")
    func publicHalf() throws {
        let held = HeldPrivateKey(try SigningPrivateKey.generate(.ed25519))
        let publicKey = held.key.publicKey
        guard case .ed25519(let point) = publicKey else { return }
        let plain = try held.key.pkcs8().exposing { $0.copied() }
        // Version 1 of the structure, and the public key as a bit string with the tag 1.
        let larger: [UInt8] = [0x30, plain[1] + 35, 2, 1, 1] + Array(plain[5...]) + [0x81, 33, 0]
        #expect(try read(larger + point).publicKey == publicKey)
        var other = point
        other[31] ^= 1
        let found = code { () throws(CofferError) in _ = try read(larger + other) }
        #expect(found == .invalidInput)
        let short: [UInt8] = [0x30, plain[1] + 3, 2, 1, 1] + Array(plain[5...]) + [0x81, 1, 0]
        #expect(code { () throws(CofferError) in _ = try read(short) } == .invalidInput)
    }

    @Test("A key in an older form is called so, and not damaged")
    func olderForms() throws {
        let rsa = try RSASignature.privateKey(importing: try SecretBytes.copying(SigningKeys.rsa))
        let elliptic: [UInt8] = [0x30, 0x25, 2, 1, 1, 4, 0x20] + [UInt8](repeating: 7, count: 32)
        let encrypted = """
            -----BEGIN RSA PRIVATE KEY-----
            Proc-Type: 4,ENCRYPTED
            DEK-Info: AES-256-CBC,00112233445566778899AABBCCDDEEFF

            AAAA
            -----END RSA PRIVATE KEY-----
            """
        let ssh = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"
        let files: [([UInt8], CofferError.Remedy?)] = [
            (rsa.exposing { $0.copied() }, .convertKey), (elliptic, .convertKey),
            (Array(encrypted.utf8), .convertKey), (Array(ssh.utf8), nil),
        ]
        for (file, remedy) in files {
            do throws(CofferError) {
                _ = try read(file)
                Issue.record("The key was read.")
            } catch {
                #expect(error.code == .unsupported && error.remedy == remedy)
            }
        }
    }

    @Test("The contents of PKCS #12 are read only under their checksum, whatever they are")
    func contents() throws {
        let secret = try SecretBytes.copying(Self.passphrase)
        let contents: [[UInt8]] = [
            [], [0x30, 0], [0x30, 0x80, 0, 0], [0x30, 0x80], [0x30, 0x84], [0, 0], [0x24, 0],
        ]
        for content in contents {
            let file = try PKCS12Writer.file(with: content, passphrase: secret, rounds: 1)
            #expect(code { () throws(CofferError) in _ = try read(file) } == .invalidInput, "\(content)")
            #expect(code { () throws(CofferError) in _ = try read(file, passphrase: "") } == .notAuthentic)
        }
        var deep: [UInt8] = []
        for _ in 0..<100 { deep = [0x30, 0x80] + deep + [0, 0] }
        let file = try PKCS12Writer.file(with: deep, passphrase: secret, rounds: 1)
        #expect(code { () throws(CofferError) in _ = try read(file) } == .invalidInput)
    }

    @Test("What costs too much is refused before the passphrase is asked for")
    func costs() throws {
        let secret = try SecretBytes.copying(Self.passphrase)
        var file = try PKCS12Writer.file(with: [0x30, 0], passphrase: secret, rounds: 1_000)
        #expect(Array(file.suffix(4)) == [2, 2, 3, 0xE8])
        file.replaceSubrange((file.count - 4)..., with: [2, 2, 0x7F, 0xFF])
        #expect(code { () throws(CofferError) in _ = try read(file) } == .notAuthentic)
        // The same length with another number: 0x98967F is one less than ten million, 0x989681 one more.
        for (rounds, expected) in [
            ([0x3B, 0x9A, 0xCA, 0x00], CofferError.Code.refused), ([0x00, 0x98, 0x96, 0x81], .refused),
        ] as [([UInt8], CofferError.Code)] {
            var asked = false
            var larger = Array(file.dropLast(4)) + [2, 4] + rounds
            // Both lengths around the number grow by two bytes.
            let mac = larger.count - 6 - 18 - 51 - 2
            guard larger[1] < 0x7E, larger[mac] == 0x30 else {
                Issue.record("The file has another form.")
                return
            }
            larger[1] += 2
            larger[mac + 1] += 2
            let input = try SecretBytes.copying(larger.span)
            let found = code { () throws(CofferError) in
                _ = try KeyBundle.reading(input) { () throws(CofferError) in
                    asked = true
                    return try SecretBytes.copying("")
                }
            }
            #expect(found == expected && !asked, "\(String(describing: found))")
        }
    }
}
