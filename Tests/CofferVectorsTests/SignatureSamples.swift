import CofferCrypto
import TestSupport

/// A scheme with a small vector file, signed by the library.
enum SignatureScheme: CaseIterable {
    case ecdsa
    case ecdsaFixed
    case ed25519
    case pkcs1
    case generation
    case pss
    case pssParameters
}

/// A signature of the library and the group that describes its key in a vector file.
struct SignatureSample {
    static let message = [UInt8].counting(10)

    let algorithm: String
    let type: String
    /// The members of the group, each followed by a comma.
    let group: String
    let signature: [UInt8]

    init(_ scheme: SignatureScheme) throws {
        switch scheme {
        case .ecdsa, .ecdsaFixed:
            let key = try ECDSAP256.generate()
            let publicKey = try ECDSAP256.publicKey(privateKey: key)
            let raw = try ECDSAP256.sign(Self.message.span, privateKey: key)
            algorithm = "ECDSA"
            type = scheme == .ecdsa ? "EcdsaVerify" : "EcdsaP1363Verify"
            group = """
                "publicKey": {"curve": "secp256r1", "uncompressed": "\(publicKey.hex)"}, "sha": "SHA-256",
                """
            signature = scheme == .ecdsa ? ECDSAP256.der(raw.span) ?? [] : raw
        case .ed25519:
            let seed = try SymmetricKey.copying([UInt8].counting(32).span)
            let publicKey = try Ed25519.publicKey(seed: seed)
            algorithm = "EDDSA"
            type = "EddsaVerify"
            group = "\"publicKey\": {\"curve\": \"edwards25519\", \"pk\": \"\(publicKey.hex)\"},"
            signature = try Ed25519.sign(Self.message.span, seed: seed)
        case .pkcs1, .generation, .pss, .pssParameters:
            let isPSS = scheme == .pss || scheme == .pssParameters
            let key = try RSASignature.privateKey(importing: try SecretBytes.copying(Self.rsa.span))
            let publicKey = try RSASignature.publicKey(privateKey: key)
            algorithm = isPSS ? "RSASSA-PSS" : "RSASSA-PKCS1-v1_5"
            type =
                switch scheme {
                case .pkcs1: "RsassaPkcs1Verify"
                case .generation: "RsassaPkcs1Generate"
                case .pss: "RsassaPssVerify"
                default: "RsassaPssWithParametersVerify"
                }
            let numbers = """
                {"modulus": "00\(publicKey.modulus.hex)", "publicExponent": "\(publicKey.exponent.hex)"}
                """
            let keys =
                scheme == .generation
                ? "\"privateKey\": \(numbers), \"privateKeyPkcs8\": \"\(Self.rsa.hex)\""
                : "\"publicKey\": \(numbers)"
            let parameters = isPSS ? "\"mgf\": \"MGF1\", \"mgfSha\": \"SHA-256\", \"sLen\": 32," : ""
            group = "\(keys), \"keySize\": 2048, \"sha\": \"SHA-256\", \(parameters)"
            signature = try RSASignature.sign(
                Self.message.span, privateKey: key, padding: isPSS ? .pss : .pkcs1)
        }
    }

    /// A private key in PKCS #8 that exists only for these tests.
    private static let rsa = [UInt8](
        hex: """
            308204bd020100300d06092a864886f70d0101010500048204a7308204a30201000282010100e48d67a8398a764cd3a3
            b40e75b9415659d2e26bd864fea4401ae2d98e44b690fa3d14aa671d8698107b685110234e882a389e73ed92a74b466e
            894504b4011391b32758f48e4ce29223d58efaa4a6967c7e059293547adac91a493e809df4e98d9f7a3ff954145fd6bc
            5daefa41d48dfb1e33bf0484d711a4f133c37a70dfb17b17bfaea45120206fa8322a11ffdb694fa89751a5d1cf0407c3
            d168d6b20f1affed39bd6ef60d2e73e15da78c31ec8d840c108ba192c3311a80fbf64c7f6a6d61dd547380079591ad4a
            a69e87115d0470a1fba92119b663585c469c29d5dccea4580f46ca1c478b7a7d33b8261ea2b741cd0f37c9852f85ce3a
            45b5aa3cd88d02030100010282010012a1ea8cf435486406aefbb60abd3c73e1e51cdb6641598c776e19b205ca03f38e
            cb08526f64a0a7e8a96992e394bff41433c3208d578836f7fa23f66750961e8bcc1b62ecfbbae33a69c7211dbd9597d8
            1f5d5745413d0b7570a4a9a94a4cab4bb09ad7f8a774f5193db30a2efc75ebd09df63700e879861be3241c057135488c
            86e422b9c620e56b486dd31d8cadf3bfcf527f7079b30fa0d971dde82fc68700361a25f79479dface0554fa636dca9ae
            2981c3074415ee1fde050978cd26552cbd3e19e0e0f5582c4dbd9c9915a40a15a3d6d855bc276be5e3789c61df043a91
            8600d9499309750553f3c5338e5d4d1eb91dad45aa6a30583554349849bfc102818100f9bb3e67626299f28174fbfb56
            5ed4c61eb8838ef9572ea800919e5b27452086726b64b20acf55dbe4413c6cf965e48c43b4b94be2d6f65a70cad90eb6
            edaa1817e9d39b8b83341fb31f8020af80332c3332d4286371cb47dc0659fd0a3b9c0c57ddf15b06e5d022a04ec50b55
            674a9d2584419b8b096ee589e00c94d005cc2d02818100ea4a10e7a7fb202288bf802714a1df51a4d2ee2ab6b5ca9087
            e845d1b397e4a611f241335546c5f1f816474205df1965586eeb20be316de0a9b04785124d239ad14c4e0637bbb41157
            9d3f47772ad3ea392c66e4c44f015862e6340da9d54b850d3e018eb955b48dcbf9d969def195504f0bf0bcb4b01922cc
            a74006118419e102818051a9e86b38621403984fe002bda8bf1d9678321533f64d7c84cb19a4a73fd4b6027e99ec1ada
            d831d2ff7e3a0888486791d06c73a357363237062e5ac0791191556892592013249d651edcf05353b1e83749dcd4e448
            16f885bbd1fb8c3817fc75534f94bbb9b5094db0d480b349d6bd72c2400e14365e7c534cdff05de2377502818068aa9a
            0ec3cebeb66edd0e85670441de19825a001f0bebe8d1ae84b280471550d3a7a455287daba4c3ae403b50a0309a43fd99
            71514687cddc40f25292b07f7d848f50341ae5f235e52c4cbec29011880beeb830ef3a5461861d4d97e50d72e587daf1
            9b2f55088a685bc03339f4373e5f71f824759c4e3e6bab344101c6404102818100864a80169062c06ffec7241a1e0cc5
            51d0cb195104b795b81efcf5800e271390c883af5c9622cd7bd9bc054c70f0753189b646424a953f97c93ead2c930552
            5d43f6e1729c92c6dd4d61b95b6f3865e8bb98d7f10feb8e1c9ebe70e264381467eee484d6fb0ea6684d66f0b40642ea
            4aea17a601206a6e593aba92ed95a8a409
            """)
}

extension SignatureSample {
    /// The members of one test.
    static func test(
        _ signature: [UInt8], _ result: String, message: [UInt8] = SignatureSample.message,
        flags: [String] = []
    ) -> String {
        let flags = flags.map { "\"\($0)\"" }.joined(separator: ", ")
        return """
            "msg": "\(message.hex)", "sig": "\(signature.hex)", "flags": [\(flags)], "result": "\(result)"
            """
    }

    /// Different forms of the signature, none of which is valid.
    var altered: [[UInt8]] {
        var forms: [[UInt8]] = [Array(signature.dropLast()), signature + [0], []]
        for index in [0, signature.count / 2, signature.count - 1] {
            var form = signature
            form[index] ^= 2
            forms.append(form)
        }
        return forms
    }

    /// A vector file with these tests, and with one text in the group replaced.
    func file(_ tests: [String], type: String? = nil, replacing old: String = "", by new: String = "")
        -> [UInt8]
    {
        VectorSamples.file(
            algorithm, type ?? self.type, tests, group: old.isEmpty ? group : group.replacing(old, with: new))
    }
}
