import CofferBase
import CofferCrypto
import CofferEngine

/// The keys for one layer of a container, derived from that layer's file key as FileFormat describes in
/// "Keys".
struct LayerKeySchedule: ~Copyable, Sendable {
    enum Layer: UInt8 { case outer = 1, inner = 2 }

    let commitment: [UInt8]
    let headerKey: SymmetricKey
    let authenticationKey: SymmetricKey
    private let chunkKey: SymmetricKey
    private let nonceBase: [UInt8]
    private let suite: ContainerCipherSuite

    static func derive(
        _ fileKey: borrowing SymmetricKey, layer: Layer, suite: ContainerCipherSuite, chunkSizeLog2: UInt8,
        id: FileID, salt: [UInt8], context: [UInt8]
    ) throws(CofferError) -> LayerKeySchedule {
        let info =
            Array(KDFLabel.fileLayer.utf8) + [layer.rawValue, suite.rawValue, chunkSizeLog2] + id.uuid.bytes
            + salt + context
        let block = try HKDF.expand(fileKey, info: info.span, digest: .sha512, count: 140)
        let chunkKey = try block.subkey(in: 0..<32)
        let headerKey = try block.subkey(in: 76..<108)
        let authenticationKey = try block.subkey(in: 108..<140)
        return LayerKeySchedule(
            commitment: block.publicBytes(44..<76), headerKey: headerKey,
            authenticationKey: authenticationKey,
            chunkKey: chunkKey, nonceBase: block.publicBytes(32..<44), suite: suite)
    }

    /// Returns a cipher for this layer's chunks. Each thread needs a separate cipher.
    func chunkCipher() throws(CofferError) -> ChunkCipher {
        ChunkCipher(aead: try UnsafeNonceAEAD.prepare(suite.algorithm, key: chunkKey), nonceBase: nonceBase)
    }

    /// Returns the cipher that seals and opens the inner header.
    func headerCipher() throws(CofferError) -> AEAD { try AEAD.prepare(suite.algorithm, key: headerKey) }
}

/// A cipher that seals and opens the chunks of one layer.
struct ChunkCipher: ~Copyable, Sendable {
    private var aead: UnsafeNonceAEAD
    private let nonceBase: [UInt8]

    init(aead: consuming UnsafeNonceAEAD, nonceBase: [UInt8]) {
        self.aead = aead
        self.nonceBase = nonceBase
    }

    private func nonce(_ index: Int64) -> [UInt8] {
        var nonce = nonceBase
        let counter = UInt64(bitPattern: index).bigEndianBytes
        for position in 0..<8 { nonce[4 + position] ^= counter[position] }
        return nonce
    }

    mutating func seal(
        _ plaintext: Span<UInt8>, index: Int64, into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        let nonce = nonce(index)
        try aead.seal(plaintext, nonce: nonce.span, associatedData: Span(), into: &output)
    }

    mutating func open(
        _ sealed: Span<UInt8>, index: Int64, into output: inout MutableSpan<UInt8>
    ) throws(CofferError) {
        let nonce = nonce(index)
        try aead.open(sealed, nonce: nonce.span, associatedData: Span(), into: &output)
    }

    mutating func sealInPlace(_ buffer: inout MutableSpan<UInt8>, index: Int64) throws(CofferError) {
        let nonce = nonce(index)
        try aead.sealInPlace(&buffer, nonce: nonce.span)
    }

    mutating func openInPlace(_ buffer: inout MutableSpan<UInt8>, index: Int64) throws(CofferError) {
        let nonce = nonce(index)
        try aead.openInPlace(&buffer, nonce: nonce.span)
    }
}
