import CofferBase
import CofferEngine

/// A private key in PKCS #8 (RFC 5208, RFC 5958), as DER or PEM.
enum PrivateKeyInfo {
    /// The algorithms of private keys.
    enum Algorithm: CaseIterable {
        case p256
        case p384
        case rsa
        case ed25519

        /// The content of the algorithm's identifier.
        var identifier: [UInt8] {
            switch self {
            case .p384:
                [
                    0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x05, 0x2B, 0x81, 0x04, 0x00,
                    0x22,
                ]
            case .p256:
                [
                    0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE,
                    0x3D, 0x03, 0x01, 0x07,
                ]
            case .rsa: [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00]
            case .ed25519: [0x06, 0x03, 0x2B, 0x65, 0x70]
            }
        }
    }

    private static var unreadable: CofferError {
        CofferError(
            .invalidInput,
            "The key is not an unencrypted PKCS #8 private key of this algorithm, in PEM or DER.")
    }

    /// Returns the key inside a PKCS #8 file, in the form that its algorithm defines.
    static func key(_ algorithm: Algorithm, in file: Span<UInt8>) throws(CofferError) -> GuardedBytes {
        if file.count > 0, file[0] == DERReader.sequence { return try content(algorithm, file) }
        let decoded = try der(file)
        return try content(algorithm, decoded.span)
    }

    private static func content(
        _ algorithm: Algorithm, _ bytes: Span<UInt8>
    ) throws(CofferError) -> GuardedBytes {
        guard let (found, key, _) = parts(of: bytes), found.count == algorithm.identifier.count,
            zip(found, algorithm.identifier).allSatisfy({ bytes[$0] == $1 })
        else { throw unreadable }
        return try GuardedBytes.copying(bytes.extracting(key))
    }

    /// Returns the algorithm of the key and the places of the key and of its public half; the algorithm is
    /// `nil` if it is not one of these, and the place of the public half if it is not there. The result is
    /// `nil` if the bytes are not a private key in PKCS #8 and DER.
    static func contents(
        of bytes: Span<UInt8>
    ) -> (algorithm: Algorithm?, key: Range<Int>, publicKey: Range<Int>?)? {
        guard let (found, key, publicKey) = parts(of: bytes) else { return nil }
        let algorithm = Algorithm.allCases.first { known in
            let identifier = known.identifier
            return found.count == identifier.count
                && zip(found, identifier).allSatisfy { bytes[$0] == $1 }
        }
        return (algorithm, key, publicKey)
    }

    /// Returns the places of the algorithm's identifier, of the key, and of its public half.
    private static func parts(
        of bytes: Span<UInt8>
    ) -> (identifier: Range<Int>, key: Range<Int>, publicKey: Range<Int>?)? {
        var file = DERReader(0..<bytes.count)
        guard let outer = file.element(DERReader.sequence, bytes), file.isAtEnd else { return nil }
        var reader = DERReader(outer)
        guard let version = reader.small(bytes), version <= 1,
            let identifier = reader.element(DERReader.sequence, bytes),
            let key = reader.element(DERReader.octets, bytes)
        else { return nil }
        // Attributes, which are not used.
        if reader.isNext(0xA0, bytes) { _ = reader.element(0xA0, bytes) }
        let publicKey = version == 1 ? reader.element(0x81, bytes) : nil
        return reader.isAtEnd ? (identifier, key, publicKey) : nil
    }

    /// The number of bytes in a PEM file that holds the largest key.
    private static let largestFile = 65_536

    /// Decodes a PEM file that consists of one private key.
    private static func der(_ text: Span<UInt8>) throws(CofferError) -> GuardedBytes {
        let (head, foot) = (
            Array("-----BEGIN PRIVATE KEY-----".utf8), Array("-----END PRIVATE KEY-----".utf8)
        )
        var (start, end) = (0, text.count)
        while start < end, isSpace(text[start]) { start += 1 }
        while end > start, isSpace(text[end - 1]) { end -= 1 }
        guard text.count <= largestFile, end - start > head.count + foot.count,
            head.indices.allSatisfy({ text[start + $0] == head[$0] }),
            foot.indices.allSatisfy({ text[end - foot.count + $0] == foot[$0] })
        else { throw unreadable }
        return try Encoding.decodeBase64Lines(text.extracting(start + head.count..<end - foot.count))
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D }
}
