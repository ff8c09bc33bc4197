package import CofferBase
import CofferCrypto
import SystemPackage

/// A vault's `policy` file: the digest of the administrator's policy at the last unlock, so that a policy
/// that vanished or changed is noticed.
///
/// Payload: whether there was a policy (1), 3 zero bytes, digest (32; zeros without a policy).
package struct PolicyRecord: Equatable, RecordPayload {
    package static let record = AuthenticatedRecord<PolicyRecord>(
        name: "policy", magic: FileMagic.policy, keyLabel: KDFLabel.policyMAC, slotSize: 512,
        displayName: "policy record")

    /// The digest; `nil` if there was no policy.
    package let digest: [UInt8]?

    package init(digest: [UInt8]?) { self.digest = digest }

    package init(from reader: inout BinaryReader) throws(CofferError) {
        let isPresent = try reader.take(4)[0]
        guard isPresent <= 1 else { throw reader.corruptError }
        let digest = try reader.take(32)
        self.digest = isPresent == 1 ? digest : nil
    }

    package func encode(to writer: inout BinaryWriter) {
        writer.append([digest == nil ? 0 : 1, 0, 0, 0])
        writer.append(digest ?? [UInt8](repeating: 0, count: 32))
    }
}
