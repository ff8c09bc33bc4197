import Coffer
import CofferBase
import CofferCrypto
import CofferVault
import FoundationEssentials

/// The test vectors for signed policies. The Formats article describes the encoding. A valid vector must be
/// taken and decode to the contents given in the file, and signing those contents must reproduce the vector's
/// bytes. An invalid vector must be refused with the error given in the file. The document in a policy is not
/// read.
package enum PolicyVectors {
    /// The algorithm's name in vector files.
    package static let algorithm = "SIGNED-POLICY"

    /// The procedure for one vector.
    package static let procedure = VectorTest(
        ["SignedPolicyTest"],
        fields: [
            "keys", "vaultID", "deviceID", "last", "now", "privateKey", "target", "format", "counter",
            "issued", "expires", "document", "policy",
        ],
        control: "policy"
    ) { (test, _) throws(MalformedVector) in
        let bytes = try test.bytes("policy")
        let (wanted, seed) = (try fields(by: test), try test.bytes("privateKey"))
        do throws(CofferError) {
            let policy = try SignedPolicy.read(bytes)
            try rules(of: test).verify(policy, after: number("last", of: test))
            guard Fields(policy) == wanted else { return .wrong("its contents differ") }
            let written = try policy.signedAgain(by: SymmetricKey.copying(seed.span))
            return written == bytes ? .agrees : .wrong("encoding it produces different bytes")
        } catch {
            return error.code == .invalidInput
                ? .wrong("it is not refused with a separate code") : .refused(error.code)
        }
    }

    /// A policy's contents in a vector file, with the numbers that the encoding uses.
    private struct Fields: Equatable {
        var target = 0
        var format = 0
        var counter: [UInt8] = []
        var issued = 0
        var expires = 0
        var document: [UInt8] = []

        init() {}

        init(_ policy: SignedPolicy) {
            switch policy.target {
            case .vault: target = 1
            case .device: target = 2
            }
            switch policy.format {
            case .propertyList: format = 1
            case .json: format = 2
            }
            counter = policy.counter.bigEndianBytes
            issued = Int(policy.issued.timeIntervalSince1970)
            expires = Int(policy.expires.timeIntervalSince1970)
            document = policy.document
        }
    }

    private static func fields(by test: VectorCase) throws(MalformedVector) -> Fields {
        var fields = Fields()
        fields.target = try test.integer("target")
        fields.format = try test.integer("format")
        fields.counter = try test.bytes("counter")
        fields.issued = try test.integer("issued")
        fields.expires = try test.integer("expires")
        fields.document = try test.bytes("document")
        return fields
    }

    private static func number(_ name: String, of test: VectorCase) throws(CofferError) -> UInt64 {
        guard let bytes = try? test.bytes(name), bytes.count == 8 else {
            throw CofferError(.invalidInput, "\(name) is not 8 bytes long")
        }
        return bytes.span.bigEndian(UInt64.self, at: 0)
    }

    private static func rules(of test: VectorCase) throws(CofferError) -> SignedDocumentRules {
        do throws(MalformedVector) {
            let pinned = try test.bytes("keys")
            guard let vaultID = UUID(bytes: try test.bytes("vaultID")), pinned.count % Ed25519.keySize == 0
            else { throw MalformedVector("an id is not 16 bytes long, or a key is not 32") }
            let keys = stride(from: 0, to: pinned.count, by: Ed25519.keySize).compactMap {
                try? AdministratorKey(Array(pinned[$0..<$0 + Ed25519.keySize]))
            }
            return SignedDocumentRules(
                keys: keys, vaultID: vaultID, deviceID: try? DeviceID(try test.bytes("deviceID")),
                now: UInt64(max(0, try test.integer("now"))))
        } catch {
            throw CofferError(.invalidInput, error.reason)
        }
    }
}
