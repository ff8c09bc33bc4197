@testable import Coffer
import CofferBase
import CofferCrypto
import FoundationEssentials

/// Signed orders, and the record of what a vault knows of them.
extension FuzzTarget {
    static let orders = [
        FuzzTarget("order") { bytes, world in try judge(bytes, world) },
        FuzzTarget("orderbook") { bytes, _ in
            let record = try RemoteCommandRecord.record.decode(bytes)
            try FuzzFinding.require(
                RemoteCommandRecord.record.decode(record.encoded) == record,
                "a record of orders does not read back")
        },
    ]

    /// An order that was read must be written again byte for byte, and a forged signature must not be valid.
    /// With an odd last byte the input is signed first, to reach the code after the signature check.
    private static func judge(_ bytes: [UInt8], _ world: FuzzWorld) throws {
        let seed = try SymmetricKey.copying([UInt8](repeating: 7, count: 32).span)
        let signer = try AdministratorKey(of: seed)
        let isSigned = bytes.last.map { $0 % 2 == 1 } ?? false
        var input = bytes
        if isSigned {
            input.removeLast()
            input += try Ed25519.sign(input.span, seed: seed)
        }
        let order = try SignedCommand.read(input)
        let again = CommandEncoding.encode(order.content, signer: order.claimedSigner)
        try FuzzFinding.require(
            again == Array(input.dropLast(Ed25519.signatureSize)), "an order has a second encoding")
        let rules = CommandVerifier(
            keys: [order.claimedSigner, signer], vaultID: world.device.vaultID.uuid, deviceID: nil,
            lastCommand: 0, lastHeartbeat: 0, now: 1_800_000_000)
        _ = try rules.verify(order)
        try FuzzFinding.require(
            isSigned && order.claimedSigner == signer, "an order that nobody signed is taken")
    }
}
