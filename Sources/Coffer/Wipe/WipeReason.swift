import CofferBase
import CofferCrypto

/// Why a wipe was begun, as the tombstone keeps it for whoever finishes it.
///
/// Layout (296 bytes): SHA-256 of the signed order or zeros (32), length of the reason (1), the reason (255,
/// zero-padded), the first 8 bytes of SHA-256 over all before. The last are there because a tombstone may be
/// torn: then the wipe goes on, and nothing is said of its cause.
struct WipeReason: Equatable {
    static let size = 296
    private static let maxReasonLength = 255
    private static let checkSize = 8

    /// What the receipt says; cut where it is longer than 255 bytes.
    let reason: String
    /// In hexadecimal; `nil` without an order.
    let orderDigest: String?

    init(reason: String, orderDigest: String?) {
        var reason = reason
        while reason.utf8.count > Self.maxReasonLength { reason.removeLast() }
        (self.reason, self.orderDigest) = (reason, orderDigest)
    }

    /// `nil` when there is none, or not the whole of it.
    init?(_ bytes: [UInt8]) {
        let body = bytes.prefix(Self.size - Self.checkSize)
        guard bytes.count == Self.size, let check = Self.check(Array(body)),
            check == Array(bytes.suffix(Self.checkSize))
        else { return nil }
        let digest = Array(body.prefix(32))
        orderDigest = digest.allSatisfy { $0 == 0 } ? nil : HexText.encode(digest)
        reason = String(decoding: body.dropFirst(33).prefix(Int(body[32])), as: UTF8.self)
    }

    var bytes: [UInt8] {
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
