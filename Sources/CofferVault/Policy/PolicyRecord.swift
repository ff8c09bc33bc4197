package import CofferBase
import CofferCrypto
import SystemPackage

/// A vault's `policy` file: the digest of the administrator's files at the last unlock, so that files that
/// vanished or changed are noticed, and the signed policy that the vault obeys.
///
/// A vault that never had a signed policy has slots of 512 bytes, as in earlier releases; such a record holds
/// no rule. Any other vault has slots of 66 KiB, and its keybag has ``KeybagFeatures/signedPolicy``.
///
/// Payload: whether there were files (1), 3 zero bytes, and digest (32; zeros without files). In slots of 66
/// KiB also: counter of the last signed policy (8), newest time of issue (8, seconds since 1970), and length
/// (4) and all bytes of the signed policy; none if the owner removed the key that signed it.
package struct PolicyRecord: Equatable, RecordPayload {
    /// The record of a vault that has had a signed policy.
    package static let record = form(slotSize: 66 << 10)
    /// The record of a vault that has had none.
    package static let unsigned = form(slotSize: 512)

    private static func form(slotSize: Int) -> AuthenticatedRecord<PolicyRecord> {
        AuthenticatedRecord(
            name: "policy", magic: FileMagic.policy, keyLabel: KDFLabel.policyMAC, slotSize: slotSize,
            displayName: "policy record", remedy: slotSize == 512 ? nil : .restorePolicyRecord)
    }

    /// The digest; `nil` if there were no files.
    package var digest: [UInt8]?
    /// The counter of the last signed policy; 0 if there has been none.
    package private(set) var counter: UInt64 = 0
    /// The newest time of issue of a signed policy, in seconds since 1970.
    package private(set) var newestIssue: UInt64 = 0
    /// All bytes of the signed policy in force; empty if there is none.
    package private(set) var signedBytes: [UInt8] = []
    /// The fields of the signed policy in force.
    package private(set) var signed: SignedPolicyFields?

    package init(digest: [UInt8]?) { self.digest = digest }

    /// Puts a signed policy in force. The caller has verified it.
    ///
    /// - Parameter bytes: All bytes of the signed policy.
    /// - Throws: The errors of ``SignedPolicyFields/init(decoding:)``.
    package mutating func take(_ bytes: [UInt8]) throws(CofferError) {
        let fields = try SignedPolicyFields(decoding: bytes)
        (counter, newestIssue) = (fields.counter, max(newestIssue, fields.issued))
        (signedBytes, signed) = (bytes, fields)
    }

    /// Removes the signed policy. The counter stays, so that no earlier policy is taken again.
    package mutating func removeSigned() { (signedBytes, signed) = ([], nil) }

    package init(from reader: inout BinaryReader) throws(CofferError) {
        let isPresent = try reader.take(4)[0]
        guard isPresent <= 1 else { throw reader.corruptError }
        let digest = try reader.take(32)
        self.digest = isPresent == 1 ? digest : nil
        guard reader.remaining > 0 else { return }
        counter = try reader.number()
        newestIssue = try reader.number()
        let bytes = try reader.lengthPrefixed(limit: SignedPolicyFields.maxByteCount)
        guard counter > 0, reader.remaining == 0 else { throw reader.corruptError }
        guard !bytes.isEmpty else { return }
        guard let fields = try? SignedPolicyFields(decoding: bytes), fields.counter == counter else {
            throw reader.corruptError
        }
        (signedBytes, signed) = (bytes, fields)
    }

    package func encode(to writer: inout BinaryWriter) {
        writer.append([digest == nil ? 0 : 1, 0, 0, 0])
        writer.append(digest ?? [UInt8](repeating: 0, count: 32))
        guard counter > 0 else { return }
        writer.append(counter)
        writer.append(newestIssue)
        writer.appendLengthPrefixed(signedBytes)
    }
}
