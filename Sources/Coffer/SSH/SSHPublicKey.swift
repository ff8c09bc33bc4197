package import CofferBase
package import CofferCrypto
import CofferEngine

/// Public keys and signatures in the encodings of SSH (RFC 4253, 5656, 8332 and 8709).
package enum SSHPublicKey {
    /// The name of a key's type.
    package static func typeName(of algorithm: SigningAlgorithm) -> String {
        switch algorithm {
        case .ed25519: "ssh-ed25519"
        case .p256: "ecdsa-sha2-nistp256"
        case .p384: "ecdsa-sha2-nistp384"
        case .rsa: "ssh-rsa"
        }
    }

    /// The name of the curve in an ECDSA key; `nil` for other keys.
    static func curveName(of algorithm: SigningAlgorithm) -> String? {
        switch algorithm {
        case .p256: "nistp256"
        case .p384: "nistp384"
        case .ed25519, .rsa: nil
        }
    }

    /// Returns the encoded form of a key, by which SSH names it.
    package static func encode(_ key: SigningPublicKey) -> [UInt8] {
        var writer = SSHWriter()
        writer.append(text: typeName(of: key.algorithm))
        if let curve = curveName(of: key.algorithm) { writer.append(text: curve) }
        switch key {
        case .ed25519(let bytes), .p256(let bytes), .p384(let bytes): writer.append(string: bytes)
        case .rsa(let key):
            writer.append(positive: key.exponent)
            writer.append(positive: key.modulus)
        }
        return writer.bytes
    }

    /// Returns a key as one line of `authorized_keys`, without the line's end.
    ///
    /// - Throws: `outOfMemory` if no memory is available.
    package static func line(_ key: SigningPublicKey, comment: String) throws(CofferError) -> String {
        let text = String(decoding: try Encoding.base64Text(encode(key)), as: UTF8.self)
        return "\(typeName(of: key.algorithm)) \(text) \(comment)"
    }

    /// Returns the SHA-256 fingerprint of a key, as `ssh-keygen -l` prints it.
    ///
    /// - Throws: `internalFailure` if the underlying library fails.
    package static func fingerprint(_ key: SigningPublicKey) throws(CofferError) -> String {
        let digest = try Digest.sha256.hash(encode(key).span)
        return "SHA256:" + String(decoding: try Encoding.base64TextUnpadded(digest), as: UTF8.self)
    }

    /// Returns the key in an encoded form; `nil` for anything but the only encoding of a key of a supported
    /// type and size.
    package static func decode(_ blob: [UInt8]) -> SigningPublicKey? {
        let bytes = blob.span
        var reader = SSHReader(0..<bytes.count)
        guard let name = reader.text(bytes),
            let algorithm = SigningAlgorithm.allCases.first(where: { typeName(of: $0).hasSameBytes(as: name) }
            )
        else { return nil }
        if let curve = curveName(of: algorithm), !reader.skip(curve, bytes) { return nil }
        let key: SigningPublicKey
        if algorithm == .rsa {
            guard let exponent = reader.positive(bytes), let modulus = reader.positive(bytes),
                let rsa = try? RSASignature.PublicKey(
                    modulus: Array(blob[modulus]), exponent: Array(blob[exponent]))
            else { return nil }
            key = .rsa(rsa)
        } else {
            guard let place = reader.string(bytes) else { return nil }
            let content = Array(blob[place])
            key =
                algorithm == .ed25519
                ? .ed25519(content) : algorithm == .p256 ? .p256(content) : .p384(content)
        }
        guard reader.isAtEnd, (try? key.check()) != nil else { return nil }
        return key
    }

    // MARK: Signatures

    /// Returns the scheme of signatures that an agent's client asks for with flags; `nil` if the key makes no
    /// such signatures, or if they would use SHA-1.
    package static func scheme(of key: SigningPublicKey, flags: UInt32) -> SigningScheme? {
        switch key.algorithm {
        case .ed25519: return .ed25519
        case .p256, .p384: return .ecdsa
        case .rsa:
            // SSH_AGENT_RSA_SHA2_256 and SSH_AGENT_RSA_SHA2_512; without either, SHA-1 is meant.
            if flags & 4 != 0 { return .rsaSHA512 }
            return flags & 2 != 0 ? .rsaSHA256 : nil
        }
    }

    /// Returns the encoded form of a signature.
    package static func encode(
        signature: [UInt8], scheme: SigningScheme, of algorithm: SigningAlgorithm
    ) -> [UInt8] {
        var writer = SSHWriter()
        switch scheme {
        case .rsaSHA256: writer.append(text: "rsa-sha2-256")
        case .rsaSHA512: writer.append(text: "rsa-sha2-512")
        default: writer.append(text: typeName(of: algorithm))
        }
        guard scheme == .ecdsa else {
            writer.append(string: signature)
            return writer.bytes
        }
        var numbers = SSHWriter()
        numbers.append(positive: Array(signature[..<(signature.count / 2)]))
        numbers.append(positive: Array(signature[(signature.count / 2)...]))
        writer.append(string: numbers.bytes)
        return writer.bytes
    }

    /// Returns whether an encoded signature is valid for a message. A signature with SHA-1 is not.
    package static func isValid(
        _ blob: [UInt8], for message: [UInt8], publicKey: SigningPublicKey
    ) throws(CofferError) -> Bool {
        let bytes = blob.span
        var reader = SSHReader(0..<bytes.count)
        guard let name = reader.text(bytes), let place = reader.string(bytes), reader.isAtEnd else {
            return false
        }
        let scheme: SigningScheme
        switch publicKey.algorithm {
        case .rsa where name.hasSameBytes(as: "rsa-sha2-256"): scheme = .rsaSHA256
        case .rsa where name.hasSameBytes(as: "rsa-sha2-512"): scheme = .rsaSHA512
        case .rsa: return false
        default:
            guard name.hasSameBytes(as: typeName(of: publicKey.algorithm)) else { return false }
            scheme = .standard(for: publicKey.algorithm)
        }
        var signature = Array(blob[place])
        if scheme == .ecdsa {
            var numbers = SSHReader(place)
            guard let r = numbers.positive(bytes), let s = numbers.positive(bytes), numbers.isAtEnd,
                let raw = fixed(Array(blob[r]), Array(blob[s]), publicKey.size / 8)
            else { return false }
            signature = raw
        }
        return try publicKey.isValid(signature: signature.span, for: message.span, scheme: scheme)
    }

    private static func fixed(_ r: [UInt8], _ s: [UInt8], _ size: Int) -> [UInt8]? {
        guard r.count <= size, s.count <= size else { return nil }
        let zeros = { (count: Int) in [UInt8](repeating: 0, count: count) }
        return zeros(size - r.count) + r + zeros(size - s.count) + s
    }
}
