import CofferBase
import CofferCrypto

/// The reason for a wipe, stored in the tombstone for the process that finishes the wipe.
///
/// Layout (296 bytes): SHA-256 of the signed command, or zeros (32), reason length (1), reason (255,
/// zero-padded), and the first 8 bytes of the SHA-256 of everything before them. These 8 bytes detect an
/// incompletely written tombstone; in that case, the wipe continues without a reason.
package struct WipeReason: Equatable {
    package static let size = 296
    private static let maxReasonLength = 255
    private static let checkSize = 8

    /// The reason that the receipt states, truncated to 255 bytes.
    package let reason: String
    /// The SHA-256 of the signed command, in hexadecimal; `nil` if no command requested the wipe.
    package let orderDigest: String?

    package init(reason: String, orderDigest: String?) {
        var reason = reason
        while reason.utf8.count > Self.maxReasonLength { reason.removeLast() }
        (self.reason, self.orderDigest) = (reason, orderDigest)
    }

    /// Creates a reason from its encoded bytes; returns `nil` if `bytes` contains no reason or an incomplete
    /// one.
    package init?(_ bytes: [UInt8]) {
        let body = bytes.prefix(Self.size - Self.checkSize)
        guard bytes.count == Self.size, let check = Self.check(Array(body)),
            check == Array(bytes.suffix(Self.checkSize))
        else { return nil }
        let digest = Array(body.prefix(32))
        orderDigest = digest.allSatisfy { $0 == 0 } ? nil : HexText.encode(digest)
        reason = String(decoding: body.dropFirst(33).prefix(Int(body[32])), as: UTF8.self)
    }

    package var bytes: [UInt8] {
        var writer = BinaryWriter()
        writer.append(orderDigest.flatMap { HexText.decode($0) } ?? [])
        writer.pad(to: 32)
        writer.append(UInt8(reason.utf8.count))
        writer.append(Array(reason.utf8))
        writer.pad(to: Self.size - Self.checkSize)
        return writer.bytes + (Self.check(writer.bytes) ?? [])
    }

    private static func check(_ body: [UInt8]) -> [UInt8]? {
        (try? Digest.sha256.hash(body.span)).map { Array($0.prefix(checkSize)) }
    }
}
