@testable import Coffer
import CofferBase
import CofferCrypto
import CofferVault

/// Policy documents, which administrators write and which other programs may have damaged.
extension FuzzTarget {
    static let policies = [
        FuzzTarget("policy-plist") { bytes, _ in try readPolicy(bytes, .propertyList) },
        FuzzTarget("policy-json") { bytes, _ in try readPolicy(bytes, .json) },
        FuzzTarget("signed-policy") { bytes, world in try judgePolicy(bytes, world) },
        FuzzTarget("policy-record") { bytes, _ in
            let record = try PolicyRecord.record.decode(bytes)
            try FuzzFinding.require(
                PolicyRecord.record.decode(record.encoded) == record, "a policy record does not read back")
        },
    ]

    /// A document that is read says the same in both formats, and one with a mistake says nothing.
    private static func readPolicy(_ bytes: [UInt8], _ format: PolicyDocument.Format) throws {
        let document = PolicyDocument(reading: bytes, as: format)
        try FuzzFinding.require(document.isValid || document.values.isEmpty, "a mistaken policy has values")
        try FuzzFinding.require(
            document.findings.allSatisfy { $0.line >= 1 && $0.line <= bytes.count { $0 == 0x0A } + 1 },
            "a finding is on a line that the document does not have")
        for other in PolicyDocument.Format.allCases where document.isValid {
            // A format has no form for some values that have no meaning.
            guard let converted = try? document.encoded(as: other),
                converted.count <= PolicyDocument.maxByteCount
            else { continue }
            let again = PolicyDocument(reading: converted, as: other)
            try FuzzFinding.require(again.values == document.values, "a converted policy says something else")
        }
    }

    /// A policy that was read must be written again byte for byte, and a forged signature must not be valid.
    /// With an odd last byte the input is signed first, to reach the document.
    private static func judgePolicy(_ bytes: [UInt8], _ world: FuzzWorld) throws {
        let seed = try SymmetricKey.copying([UInt8](repeating: 7, count: 32).span)
        let signer = try AdministratorKey(of: seed)
        let isSigned = bytes.last.map { $0 % 2 == 1 } ?? false
        var input = bytes
        if isSigned {
            input.removeLast()
            input += try Ed25519.sign(input.span, seed: seed)
        }
        let policy = try SignedPolicy.read(input)
        try FuzzFinding.require(
            policy.fields.encoded == Array(input.dropLast(Ed25519.signatureSize)),
            "a policy has a second encoding")
        _ = try? policy.fields.validDocument()
        if policy.counter > 0 {
            var record = PolicyRecord(digest: nil)
            try record.take(policy.bytes)
            try FuzzFinding.require(
                PolicyRecord.record.decode(record.encoded) == record, "a taken policy does not read back")
        }
        let rules = SignedDocumentRules(
            keys: [policy.claimedSigner, signer], vaultID: world.device.vaultID.uuid, deviceID: nil,
            now: 1_800_000_000)
        try rules.verify(policy, after: 0)
        try FuzzFinding.require(
            isSigned && policy.claimedSigner == signer, "a policy that nobody signed is taken")
    }
}
