package import CofferBase
import CofferCrypto
import SystemPackage

/// A vault's `anchors` file: the vault's number, the generations of the files that it stands for, and where
/// else the number is kept. A vault without anchors has no such file.
///
/// The number is raised after every change that is counted. Each anchor gets it afterwards, so an anchor's
/// number is never higher than this one, unless an older copy of this file was restored.
///
/// Payload: flags (1; bit 0: there is an anchor in the kernel keyring, bit 1: a receipt was made), 3 zero
/// bytes, number (8), ``VaultGenerations`` (96), the time from boot at which the number was last raised in
/// nanoseconds (8), the boot in which it was (length-prefixed UTF-8), the boot in which the anchor in the
/// kernel keyring was last known to be there, the path of the anchor's file, which is empty without one, and
/// the counter of the last signed policy (8), which is missing in a vault that has had none.
package struct AnchorRecord: RecordPayload {
    package static let record = AuthenticatedRecord<AnchorRecord>(
        name: "anchors", magic: FileMagic.anchors, keyLabel: KDFLabel.anchorsMAC, slotSize: 2048,
        displayName: "record of the anchors", remedy: .resetAnchors)
    /// The maximum length of the path of an anchor's file, in bytes.
    package static let maxPathLength = 1024

    package var number: UInt64 = 0
    package var generations = VaultGenerations()
    package var usesKernelKeyring = false
    package var hasReceipt = false
    /// The path of the anchor's file, in UTF-8; `nil` if there is none.
    package var path: [UInt8]?
    /// The time from boot at which the number was last raised.
    package var raised = Duration.zero
    package var boot = ""
    package var keyringBoot = ""

    package init() {}

    /// Whether anything besides this file shows an older copy.
    package var hasAnchor: Bool { usesKernelKeyring || hasReceipt || path != nil }

    package func encode(to writer: inout BinaryWriter) {
        writer.append([(usesKernelKeyring ? 1 : 0) | (hasReceipt ? 2 : 0), 0, 0, 0])
        writer.append(number)
        generations.encode(to: &writer)
        writer.append(UInt64(clamping: raised.nanoseconds))
        writer.appendText(boot)
        writer.appendText(keyringBoot)
        writer.appendLengthPrefixed(path ?? [])
        if generations.policy > 0 { writer.append(generations.policy) }
    }

    package init(from reader: inout BinaryReader) throws(CofferError) {
        let flags = try reader.take(4)
        guard flags[0] <= 3, flags.dropFirst().allSatisfy({ $0 == 0 }) else { throw reader.corruptError }
        usesKernelKeyring = flags[0] & 1 != 0
        hasReceipt = flags[0] & 2 != 0
        number = try reader.number()
        generations = try VaultGenerations(from: &reader)
        raised = .nanoseconds(Int64(clamping: try reader.number(UInt64.self)))
        boot = try reader.text()
        keyringBoot = try reader.text()
        let bytes = try reader.lengthPrefixed(limit: Self.maxPathLength)
        path = bytes.isEmpty ? nil : bytes
        if reader.remaining > 0 {
            generations.policy = try reader.number()
            guard generations.policy > 0 else { throw reader.corruptError }
        }
        guard reader.remaining == 0 else { throw reader.corruptError }
    }
}
