package import CofferBase
import CofferCrypto

/// The fields of a signed policy as its bytes contain them. Numbers are big-endian, and every policy has
/// exactly one encoding.
///
/// Layout, with sizes in bytes: magic (8), version (2), kind of target (1: 1 vault, 2 device), format of the
/// document (1: 1 property list, 2 JSON), 4 zero bytes, target (16), counter (8), issued (8), expires (8),
/// signer (32), length (4) and document. The signature (64) follows.
package struct SignedPolicyFields: Sendable, Hashable {
    /// The kind of vaults that a policy is for.
    package enum TargetKind: UInt8, Sendable {
        case vault = 1
        case device = 2
    }

    package static let version: UInt16 = 1
    /// The greatest size of the document in bytes.
    package static let maxDocumentByteCount = 1 << 16
    /// The size of the fields before the document, in bytes.
    package static let headerSize = 92
    package static let maxByteCount = headerSize + maxDocumentByteCount + Ed25519.signatureSize
    /// The last second of the year 9999.
    private static let lastSecond: UInt64 = 253_402_300_799

    package let targetKind: TargetKind
    /// The id of the vault or of the device; 16 bytes.
    package let target: [UInt8]
    package let counter: UInt64
    /// The time of issue, in seconds since 1970.
    package let issued: UInt64
    /// The time from which nobody may take the policy, in seconds since 1970.
    package let expires: UInt64
    /// The public key of the signer; 32 bytes.
    package let signer: [UInt8]
    package let format: PolicyDocument.Format
    package let document: [UInt8]

    package init(
        _ document: [UInt8], as format: PolicyDocument.Format, for targetKind: TargetKind, _ target: [UInt8],
        counter: UInt64, issued: UInt64, expires: UInt64, signer: [UInt8]
    ) {
        self.targetKind = targetKind
        self.target = target
        self.counter = counter
        self.issued = issued
        self.expires = expires
        self.signer = signer
        self.format = format
        self.document = document
    }

    /// The encoding without the signature.
    package var encoded: [UInt8] {
        var writer = BinaryWriter()
        writer.append(Array(FileMagic.signedPolicy.utf8))
        writer.append(Self.version)
        let number: UInt8 =
            switch format {
            case .propertyList: 1
            case .json: 2
            }
        writer.append([targetKind.rawValue, number, 0, 0, 0, 0])
        writer.append(target)
        writer.append(counter)
        writer.append(issued)
        writer.append(expires)
        writer.append(signer)
        writer.appendLengthPrefixed(document)
        return writer.bytes
    }

    /// Decodes all bytes of a signed policy, whose signature is not checked here.
    ///
    /// - Throws: `orderTooLong` if there are too many bytes; `orderUnsupportedVersion` if a newer release
    ///   wrote them; `orderMalformed` for anything else that is not a signed policy.
    package init(decoding bytes: [UInt8]) throws(CofferError) {
        guard bytes.count <= Self.maxByteCount else {
            throw CofferError(
                .orderTooLong,
                "A signed policy must be at most \(Self.maxByteCount) bytes long, not \(bytes.count).")
        }
        guard bytes.starts(with: Array(FileMagic.signedPolicy.utf8)),
            bytes.count > Self.headerSize + Ed25519.signatureSize
        else { throw Self.malformed }
        let version = bytes.span.bigEndian(UInt16.self, at: 8)
        guard version <= Self.version else {
            throw CofferError(
                .orderUnsupportedVersion,
                "The signed policy was created by a newer release. Use that release.")
        }
        guard version == Self.version else { throw Self.malformed }
        do throws(CofferError) {
            let body = Array(bytes.dropLast(Ed25519.signatureSize))
            var reader = BinaryReader(body, from: 10, name: "signed policy")
            self = try Self.fields(&reader)
        } catch {
            guard error.code == .corrupt else { throw error }
            throw Self.malformed
        }
    }

    private static func fields(_ reader: inout BinaryReader) throws(CofferError) -> SignedPolicyFields {
        let words = try reader.take(6)
        guard words[2...].allSatisfy({ $0 == 0 }), let kind = TargetKind(rawValue: words[0]),
            let format = ([1: .propertyList, 2: .json] as [UInt8: PolicyDocument.Format])[words[1]]
        else { throw reader.corruptError }
        let target = try reader.take(16)
        let counter = try reader.number(UInt64.self)
        let (issued, expires) = (try reader.number(UInt64.self), try reader.number(UInt64.self))
        let signer = try reader.take(Ed25519.keySize)
        let document = try reader.lengthPrefixed(limit: maxDocumentByteCount)
        guard issued < expires, expires <= lastSecond, !document.isEmpty, reader.remaining == 0 else {
            throw reader.corruptError
        }
        return SignedPolicyFields(
            document, as: format, for: kind, target, counter: counter, issued: issued, expires: expires,
            signer: signer)
    }

    private static var malformed: CofferError {
        CofferError(.orderMalformed, "The input is not a signed policy, or the policy is damaged.")
    }

    /// The name by which origins and messages refer to the policy.
    package var name: String { "signed policy \(counter)" }
}
