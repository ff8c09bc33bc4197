import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Foundation
import SystemPackage
import TestSupport
import Testing

/// The memory of a process after it handled a secret, flow by flow.
@Suite(
    "Secrets leave nothing in memory after their use",
    .enabled(if: ProcessScan.isPossible, "the memory of another process cannot be read here"),
    .enabled(if: CommandRun.areProgramsChosen, "in a debug build the runtime's frames keep registers"))
struct SecretFlowTests {
    /// The flows for which the secret is more than a value to be stored.
    private static let asPasscode = ["unlock-lock"]

    private static let flows = [
        "unlock-lock", "wrong-passcode", "passcode-change", "token-put", "token-get", "token-remove",
        "file-add",
        "file-read", "file-view", "file-export", "wipe", "recovery-key", "documented-key", "passcode-hash",
        "documented-cbc",
        "pbkdf2", "argon2id", "hkdf", "hmac", "aead", "cbc-hmac", "key-wrap", "sealed-box", "signature",
        "digest-signature", "key-file", "key-file-passphrase",
    ]

    @Test("A secret is found while it is held, and no eight bytes of it afterwards", arguments: flows)
    func flow(_ name: String) async throws {
        let home = try TestHome()
        // New for each run, and printable: it comes as a line.
        let secret =
            name == "recovery-key"
            ? try RecoveryKey.generate().text().exposing { String(decoding: $0.copied(), as: UTF8.self) }
            : HexText.encode(try SecureRandom.bytes(24))
        let session = try await home.create(
            Self.asPasscode.contains(name) ? secret : "an ordinary passcode")
        session.close()
        try home.scratch.write("secret.txt", Array(secret.utf8))
        let agent = try #require(
            Agent.start(["flow", home.location.path.string, name, home.scratch.path(of: "secret.txt")]))
        agent.send(secret)
        #expect(agent.line() == "holding")
        let bytes = Array(secret.utf8)
        let held = try ProcessScan.count(["all of it": bytes], in: agent.identifier)
        #expect(held["all of it", default: 0] > 0, "the search is blind")
        agent.send("go on")
        #expect(agent.line() == "done")
        let left = try ProcessScan.count(try needles(name, bytes), in: agent.identifier).filter {
            $0.value > 0
        }
        #expect(left.isEmpty, "left after \(name): \(left.keys.sorted())")
    }

    /// Every eight bytes of the secret, and of what is derived from it.
    private func needles(_ flow: String, _ secret: [UInt8]) throws -> [String: [UInt8]] {
        var needles = windows("the secret", secret)
        let held = try SecretBytes.copying(secret.span)
        var derived: [UInt8]
        switch flow {
        case "documented-key":
            let uuid = "0F8FAD5B-D9CB-469F-A165-70867728950E"
            let passcode: SecretBytes? = try SecretBytes.copying(secret.span)
            derived = try Insecure.DocumentedKey.exposingKey(uuid: uuid, passcode: passcode).exposing {
                $0.copied()
            }
            needles.merge(try hash(held)) { first, _ in first }
        case "digest-signature":
            // OpenSSL's numbers begin with the lowest byte.
            derived = secret.reversed()
        case "key-file-passphrase": derived = secret.flatMap { [0, $0] }
        case "recovery-key":
            // The 20 bytes of the key, five for every two groups.
            let symbols = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
            let groups = secret.split(separator: UInt8(ascii: "-")).map { $0.prefix(4) }
            let values = try groups.joined().map { try #require(symbols.firstIndex(of: $0)) }
            derived = stride(from: 0, to: values.count, by: 8).flatMap { start in
                let bits = values[start..<start + 8].reduce(0) { $0 << 5 | $1 }
                return (0..<5).map { UInt8(truncatingIfNeeded: bits >> (32 - 8 * $0)) }
            }
        case "passcode-hash":
            derived = []
            needles.merge(try hash(held)) { first, _ in first }
        case "pbkdf2":
            let salt = [UInt8](repeating: 7, count: 16)
            derived = try PBKDF2.derive(secret: secret.span, salt: salt.span, rounds: 50, count: 64).exposing
            {
                $0.copied()
            }
        case "hmac", "hkdf":
            // HMAC keeps its key in these two forms.
            derived = []
            for pad in [UInt8(0x36), 0x5c] {
                needles.merge(windows("the key under \(pad)", secret.prefix(32).map { $0 ^ pad })) {
                    first, _ in
                    first
                }
            }
        default: derived = []
        }
        // In UTF-16, eight bytes are four digits, which texts of ICU in a static program may contain, too.
        let size = flow == "key-file-passphrase" ? 16 : 8
        needles.merge(windows("the result", derived, size: size)) { first, _ in first }
        return needles
    }

    private func hash(_ secret: borrowing SecretBytes) throws -> [String: [UInt8]] {
        windows("the hash", try Insecure.DocumentedKey.passcodeHash(of: secret).exposing { $0.copied() })
    }

    private func windows(_ name: String, _ bytes: [UInt8], size: Int = 8) -> [String: [UInt8]] {
        guard bytes.count >= size else { return [:] }
        return Dictionary(
            uniqueKeysWithValues: (0...bytes.count - size).map {
                ("\(name) from \($0)", Array(bytes[$0..<$0 + size]))
            })
    }
}
