import Coffer
import CofferBase
import CofferCrypto
import FoundationEssentials

/// The test vectors for signed commands. The Formats article describes the encoding. A valid vector must be
/// accepted and decode to the contents given in the file, and encoding and signing those contents must
/// reproduce the vector's bytes. An invalid vector must be refused with the error given in the file.
package enum OrderVectors {
    /// The algorithm's name in vector files.
    package static let algorithm = "SIGNED-ORDER"

    /// The procedure for one vector.
    package static let procedure = VectorTest(
        ["SignedOrderTest"],
        fields: [
            "keys", "vaultID", "deviceID", "lastOrder", "lastContact", "now", "privateKey", "action", "scope",
            "target", "counter", "issued", "expires", "subject", "reason", "order",
        ],
        control: "order"
    ) { (test, _) throws(MalformedVector) in
        let bytes = try test.bytes("order")
        let (wanted, seed) = (try fields(by: test), try test.bytes("privateKey"))
        do throws(CofferError) {
            let rules = try rules(of: test)
            let verified = try rules.verify(SignedCommand.read(bytes))
            guard describes(verified.content, wanted) else { return .wrong("its contents differ") }
            let written = try verified.content.signed(by: SymmetricKey.copying(seed.span))
            return written == bytes ? .agrees : .wrong("encoding it produces different bytes")
        } catch {
            return error.code == .invalidInput
                ? .wrong("it is not refused with a separate code") : .refused(error.code)
        }
    }

    /// A command's contents in a vector file, with the numbers that the encoding uses.
    private struct Fields: Equatable {
        let action: Int
        let scope: Int
        let target: Int
        let counter: [UInt8]
        let issued: Int
        let expires: Int
        let subject: [UInt8]
        let reason: [UInt8]
    }

    private static func fields(by test: VectorCase) throws(MalformedVector) -> Fields {
        Fields(
            action: try test.integer("action"), scope: try test.integer("scope"),
            target: try test.integer("target"), counter: try test.bytes("counter"),
            issued: try test.integer("issued"), expires: try test.integer("expires"),
            subject: try test.bytes("subject"), reason: try test.bytes("reason"))
    }

    private static func describes(_ order: RemoteCommand, _ wanted: Fields) -> Bool {
        let (action, scope, subject): (Int, Int, [UInt8]) =
            switch order.action {
            case .wipe(.all): (1, 1, [])
            case .wipe(.user(let name)): (1, 2, Array(name.utf8))
            case .wipe(.tokens): (1, 3, [])
            case .heartbeat: (2, 0, [])
            case .pin(let key): (3, 0, key.bytes)
            case .unpin(let key): (4, 0, key.bytes)
            }
        let target =
            switch order.target {
            case .vault: 1
            case .device: 2
            }
        return wanted
            == Fields(
                action: action, scope: scope, target: target, counter: order.counter.bigEndianBytes,
                issued: Int(order.issued.timeIntervalSince1970),
                expires: Int(order.expires.timeIntervalSince1970), subject: subject,
                reason: Array(order.reason.utf8))
    }

    private static func rules(of test: VectorCase) throws(CofferError) -> CommandVerifier {
        do throws(MalformedVector) {
            let pinned = try test.bytes("keys")
            guard let vaultID = UUID(bytes: try test.bytes("vaultID")) else {
                throw MalformedVector("field vaultID is not 16 bytes long")
            }
            let last = [try test.bytes("lastOrder"), try test.bytes("lastContact")]
            guard last.allSatisfy({ $0.count == 8 }), pinned.count % Ed25519.keySize == 0 else {
                throw MalformedVector("a counter is not 8 bytes long, or a key is not 32")
            }
            let counters = last.map { $0.span.bigEndian(UInt64.self, at: 0) }
            let (device, now) = (try test.bytes("deviceID"), try test.integer("now"))
            return CommandVerifier(
                keys: stride(from: 0, to: pinned.count, by: Ed25519.keySize).compactMap {
                    try? AdministratorKey(Array(pinned[$0..<$0 + Ed25519.keySize]))
                }, vaultID: vaultID, deviceID: try? DeviceID(device), lastCommand: counters[0],
                lastHeartbeat: counters[1], now: UInt64(max(0, now)))
        } catch {
            throw CofferError(.invalidInput, error.reason)
        }
    }
}
