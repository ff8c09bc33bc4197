@testable import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Testing
import TestSupport

@Suite("Messages of SSH agents")
struct SSHCodecTests {
    private func string(_ bytes: [UInt8]) -> [UInt8] {
        var writer = SSHWriter()
        writer.append(string: bytes)
        return writer.bytes
    }

    private func decoded(_ bytes: [UInt8]) throws -> SSHAgentRequest { try .decode(bytes.span) }

    private func isUnsupported(_ bytes: [UInt8]) throws -> Bool {
        if case .unsupported = try decoded(bytes) { true } else { false }
    }

    /// The message by which a client adds a key.
    private func adding(_ algorithm: SigningAlgorithm, constraints: [UInt8]? = nil) throws -> [UInt8] {
        let key = try SigningPrivateKey.generate(algorithm)
        var writer = SSHWriter()
        writer.append(byte: constraints == nil ? 17 : 25)
        writer.append(text: SSHPublicKey.typeName(of: algorithm))
        let secret = key.secret.exposing { $0.copied() }
        switch key.publicKey {
        case .ed25519(let bytes):
            writer.append(string: bytes)
            writer.append(string: secret + bytes)
        case .p256(let point), .p384(let point):
            writer.append(text: algorithm == .p256 ? "nistp256" : "nistp384")
            writer.append(string: point)
            writer.append(positive: secret)
        case .rsa: throw NoMessage()
        }
        writer.append(text: "comment")
        return writer.bytes + (constraints ?? [])
    }

    private struct NoMessage: Error {}

    @Test("Every proper beginning of a message, and every longer one, is refused")
    func lengths() throws {
        let messages: [[UInt8]] = [
            [11], [19], [18] + string([1]), [13] + string([1]) + string([2]) + [0, 0, 0, 0],
            [22] + string([]),
            [23] + string([1]), try adding(.ed25519), try adding(.p256), try adding(.p384),
            try adding(.ed25519, constraints: [1, 0, 0, 0, 9, 2]),
        ]
        for message in messages {
            #expect(try !isUnsupported(message))
            for count in 0..<message.count {
                // A constrained message without constraints is whole.
                guard message[0] != 25 || count < message.count - 6 else { continue }
                #expect(try isUnsupported(Array(message[..<count])), "\(message[0]) \(count)")
            }
            #expect(try isUnsupported(message + [0]), "\(message[0])")
        }
    }

    @Test("Keys whose halves do not belong together, and unknown constraints, are refused")
    func keys() throws {
        for algorithm in [SigningAlgorithm.ed25519, .p256, .p384] {
            let message = try adding(algorithm)
            guard case .add(let key) = try decoded(message) else {
                Issue.record("\(algorithm) is refused")
                continue
            }
            #expect(key.comment == "comment" && !key.confirmsEachUse && key.lifetime == nil)
            // A byte of the public half.
            var other = message
            other[algorithm == .ed25519 ? 24 : 60] ^= 1
            #expect(try isUnsupported(other), "\(algorithm)")
        }
        guard case .add(let key) = try decoded(adding(.p256, constraints: [2, 1, 0, 0, 1, 0])) else {
            Issue.record("constraints are refused")
            return
        }
        #expect(key.confirmsEachUse && key.lifetime == 256)
        let restricted = string(Array("restrict-destination-v00@openssh.com".utf8)) + string([])
        for constraints in [[3], [255] + restricted, [1, 0, 0], [1, 0, 0, 0, 1, 1, 0, 0, 0, 1]] {
            #expect(try isUnsupported(adding(.ed25519, constraints: constraints)), "\(constraints)")
        }
    }

    @Test("A public key has one encoding; signatures with SHA-1 are never asked for")
    func publicKeys() throws {
        for algorithm in [SigningAlgorithm.ed25519, .p256, .p384] {
            let key = try SigningPrivateKey.generate(algorithm).publicKey
            let blob = SSHPublicKey.encode(key)
            #expect(SSHPublicKey.decode(blob) == key)
            for count in 0..<blob.count { #expect(SSHPublicKey.decode(Array(blob[..<count])) == nil) }
            #expect(SSHPublicKey.decode(blob + [0]) == nil)
            #expect(SSHPublicKey.scheme(of: key, flags: 0) == .standard(for: algorithm))
        }
        let modulus = [0xC1] + [UInt8](repeating: 0x55, count: 255)
        let rsa = SigningPublicKey.rsa(
            try RSASignature.PublicKey(modulus: modulus, exponent: [1, 0, 1]))
        #expect(SSHPublicKey.decode(SSHPublicKey.encode(rsa)) == rsa)
        #expect(SSHPublicKey.scheme(of: rsa, flags: 0) == nil)
        #expect(SSHPublicKey.scheme(of: rsa, flags: 1) == nil)
        #expect(SSHPublicKey.scheme(of: rsa, flags: 2) == .rsaSHA256)
        #expect(SSHPublicKey.scheme(of: rsa, flags: 4) == .rsaSHA512)
    }

    @Test("A signature in the encoding of SSH verifies, and no changed one does")
    func signatures() throws {
        let message = [UInt8].counting(50)
        for algorithm in [SigningAlgorithm.ed25519, .p256, .p384] {
            let key = try SigningPrivateKey.generate(algorithm)
            let scheme = SigningScheme.standard(for: algorithm)
            let blob = SSHPublicKey.encode(
                signature: try key.sign(message.span, scheme: scheme), scheme: scheme, of: algorithm)
            let publicKey = key.publicKey
            #expect(try SSHPublicKey.isValid(blob, for: message, publicKey: publicKey))
            #expect(try !SSHPublicKey.isValid(blob, for: message + [0], publicKey: publicKey))
            for other in blob.withEachBitFlipped.prefix(200) {
                #expect(try !SSHPublicKey.isValid(other, for: message, publicKey: publicKey))
            }
        }
    }

    @Test("The meaning of data to sign is told apart, and only whole data has one")
    func meanings() {
        let file = Array("SSHSIG".utf8) + string(Array("git".utf8)) + string([]) + string([1]) + string([2])
        #expect(SSHSignedData(file) == .file(namespace: "git"))
        #expect(SSHSignedData(file + [0]) == .other)
        #expect(SSHSignedData(Array("SSHSIG".utf8)) == .other)
        let signIn =
            string([7]) + [50] + string(Array("ada".utf8)) + string(Array("ssh-connection".utf8))
            + string(Array("publickey".utf8)) + [1] + string(Array("ssh-ed25519".utf8)) + string([1])
        #expect(SSHSignedData(signIn) == .signIn(user: "ada", session: [7]))
        #expect(SSHSignedData(signIn + [0]) == .other)
        #expect(SSHSignedData([]) == .other)
    }

    @Test("No peer writes a second line of a question, or a long one")
    func questions() {
        let lines = "root?\nHost key: SHA256:other\r\u{85}\u{2028}\u{1B}[2J\u{202E}"
        let signIn = SSHSignedData.signIn(user: lines, session: [])
        #expect(signIn.purpose == "to sign in as root??Host key: SHA256:other????[2J?")
        let long = SSHSignedData.file(namespace: String(repeating: "a", count: 250_000)).purpose
        #expect(long == "to sign data for " + String(repeating: "a", count: 100) + "\u{2026}")
        #expect(SSHSignedData.signIn(user: "Zo\u{EB}", session: []).purpose == "to sign in as Zo\u{EB}")
    }

    /// The message of a server that binds a connection to a session.
    private func binding(
        _ session: [UInt8], isForwarding: Bool, signing other: [UInt8]? = nil
    ) throws -> SSHSessionBinding {
        let key = try SigningPrivateKey.generate(.ed25519)
        let signed = other ?? session
        let signature = SSHPublicKey.encode(
            signature: try key.sign(signed.span, scheme: .ed25519), scheme: .ed25519, of: .ed25519)
        let message =
            [27] + string(Array("session-bind@openssh.com".utf8)) + string(SSHPublicKey.encode(key.publicKey))
            + string(session) + string(signature) + [isForwarding ? 1 : 0]
        guard case .bind(let binding) = try decoded(message) else { throw NoMessage() }
        return binding
    }

    @Test("A connection that is bound to a server signs in to this server only")
    func sessions() throws {
        let session = SSHAgentSession()
        let signIn = SSHSignedData.signIn(user: "ada", session: [1])
        #expect(session.allows(signIn) && session.allows(.other))
        #expect(try !session.bind(binding([1], isForwarding: true, signing: [2])))
        #expect(try session.bind(binding([9], isForwarding: true)))
        #expect(session.isForwarded && session.allows(signIn) && session.allows(.file(namespace: "git")))
        let last = try binding([1], isForwarding: false)
        #expect(try session.bind(last))
        #expect(try session.bind(last))
        #expect(session.allows(signIn))
        #expect(!session.allows(.signIn(user: "ada", session: [2])) && !session.allows(.other))
        #expect(!session.allows(.file(namespace: "git")))
        #expect(try !session.bind(binding([3], isForwarding: false)))
        #expect(try !session.bind(binding([1], isForwarding: false)))
    }
}
