import CofferBase
package import CofferCrypto
import CofferEngine

/// A private key that a client added to an SSH agent, with its constraints.
package final class SSHAddedKey: Sendable {
    /// The key's owner.
    package let held: HeldPrivateKey
    /// The client's comment, such as the name of the file.
    package let comment: String
    /// The number of seconds after which the agent forgets the key; `nil` for never.
    let lifetime: UInt32?
    /// Whether a person must confirm each use.
    package let confirmsEachUse: Bool

    /// The public half of the key.
    var publicKey: SigningPublicKey { held.key.publicKey }

    private init(
        _ key: consuming SigningPrivateKey, _ comment: String, lifetime: UInt32?, confirms: Bool
    ) {
        held = HeldPrivateKey(key)
        self.comment = comment
        self.lifetime = lifetime
        confirmsEachUse = confirms
    }

    /// The maximum number of bytes of a comment.
    private static let longestComment = 1024

    /// Reads a key and its constraints; `nil` for a malformed message, a key of another type, an unusable
    /// key, or a constraint that this agent cannot keep, such as a limit to certain servers.
    static func decode(
        _ bytes: Span<UInt8>, _ reader: inout SSHReader, constrained: Bool
    ) throws(CofferError) -> SSHAddedKey? {
        guard let secret = try secret(bytes, &reader), let comment = reader.text(bytes),
            comment.utf8.count <= longestComment
        else { return nil }
        var (lifetime, confirms): (UInt32?, Bool) = (nil, false)
        guard constrained || reader.isAtEnd else { return nil }
        while !reader.isAtEnd {
            switch reader.byte(bytes) {
            case 1:
                guard let seconds = reader.number(bytes), lifetime == nil else { return nil }
                lifetime = seconds
            case 2: confirms = true
            default: return nil
            }
        }
        let (algorithm, expected) = (secret.algorithm, secret.publicKey)
        let key: SigningPrivateKey
        do throws(CofferError) {
            key = try SigningPrivateKey.make(algorithm, secret.bytes.take())
        } catch {
            guard error.code == .invalidInput else { throw error }
            return nil
        }
        guard key.publicKey == expected else { return nil }
        return SSHAddedKey(key, comment, lifetime: lifetime, confirms: confirms)
    }

    /// A private key before it is checked.
    private struct Secret {
        let algorithm: SigningAlgorithm
        let publicKey: SigningPublicKey
        let bytes: Held
    }

    /// A noncopyable value inside an optional structure, which is taken once.
    private final class Held {
        private var bytes: SecretBytes?

        init(_ bytes: consuming SecretBytes) { self.bytes = consume bytes }

        func take() throws(CofferError) -> SecretBytes {
            guard let bytes = bytes.take() else {
                throw CofferError(.internalFailure, "A private key was taken twice.")
            }
            return bytes
        }
    }

    private static func secret(
        _ bytes: Span<UInt8>, _ reader: inout SSHReader
    ) throws(CofferError) -> Secret? {
        guard let name = reader.text(bytes),
            let algorithm = SigningAlgorithm.allCases.first(where: {
                SSHPublicKey.typeName(of: $0).hasSameBytes(as: name)
            })
        else { return nil }
        switch algorithm {
        case .ed25519: return try edwards(bytes, &reader)
        case .p256, .p384: return try elliptic(algorithm, bytes, &reader)
        case .rsa: return try rsa(bytes, &reader)
        }
    }

    /// The seed and the public key follow each other in the private string.
    private static func edwards(_ bytes: Span<UInt8>, _ reader: inout SSHReader) throws(CofferError)
        -> Secret?
    {
        guard let publicPlace = reader.string(bytes), publicPlace.count == 32,
            let place = reader.string(bytes), place.count == 64
        else { return nil }
        let publicKey = bytes.extracting(publicPlace).copied()
        guard bytes.extracting(place.lowerBound + 32..<place.upperBound).copied() == publicKey else {
            return nil
        }
        let seed = bytes.extracting(place.lowerBound..<place.lowerBound + 32)
        return Secret(
            algorithm: .ed25519, publicKey: .ed25519(publicKey), bytes: Held(try SecretBytes.copying(seed)))
    }

    private static func elliptic(
        _ algorithm: SigningAlgorithm, _ bytes: Span<UInt8>, _ reader: inout SSHReader
    ) throws(CofferError) -> Secret? {
        let size = algorithm == .p256 ? ECDSAP256.privateKeySize : ECDSAP384.privateKeySize
        guard let curve = SSHPublicKey.curveName(of: algorithm), reader.skip(curve, bytes),
            let point = reader.string(bytes), let number = reader.positive(bytes), number.count <= size
        else { return nil }
        let digits = bytes.extracting(number)
        let secret = try GuardedBytes.filled(count: size) { (span) throws(CofferError) in
            for index in 0..<size - digits.count { span[index] = 0 }
            span.write(digits, at: size - digits.count)
        }
        let content = bytes.extracting(point).copied()
        return Secret(
            algorithm: algorithm, publicKey: algorithm == .p256 ? .p256(content) : .p384(content),
            bytes: Held(SecretBytes(secret)))
    }

    private static func rsa(_ bytes: Span<UInt8>, _ reader: inout SSHReader) throws(CofferError) -> Secret? {
        guard let modulus = reader.positive(bytes), let exponent = reader.positive(bytes),
            let secret = reader.positive(bytes), let inverse = reader.positive(bytes),
            let first = reader.positive(bytes), let second = reader.positive(bytes),
            let publicKey = try? RSASignature.PublicKey(
                modulus: bytes.extracting(modulus).copied(), exponent: bytes.extracting(exponent).copied()),
            publicKey.size <= SigningPrivateKey.largestModulus,
            [secret, inverse, first, second].allSatisfy({ $0.count <= modulus.count })
        else { return nil }
        do throws(CofferError) {
            let numbers = try RSAPrivateNumbers(
                copying: bytes, modulus: modulus, publicExponent: exponent, privateExponent: secret,
                primes: (first, second), coefficient: inverse)
            return Secret(
                algorithm: .rsa, publicKey: .rsa(publicKey), bytes: Held(try numbers.encoded()))
        } catch {
            guard error.code == .invalidInput else { throw error }
            return nil
        }
    }
}
