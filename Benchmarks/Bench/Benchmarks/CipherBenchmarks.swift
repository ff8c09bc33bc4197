import BenchPeers
import CofferBase
import CofferCrypto
import CofferEngine

/// Encryption of messages, with many messages per key.
enum CipherBenchmarks {
    static let sizes = [64, 1024, 16_384, 65_536, 1_048_576]

    static let all: [Benchmark] =
        each("gcm-seal", gcmSeal) + [GocryptfsPeer.benchmark] + each("gcm-open", gcmOpen)
        + each("cbc256-encrypt", cbcEncrypt) + each("cbc256-decrypt", cbcDecrypt) + each("cbc-hmac", cbcHMAC)

    private static func each(
        _ name: String, _ run: @escaping @Sendable (Runner, String, Int) async throws(CofferError) -> Void
    ) -> [Benchmark] {
        sizes.map { size in
            Benchmark("\(name)/\(size)") { (runner) async throws(CofferError) in
                try await run(runner, "\(name)/\(size)", size)
            }
        }
    }

    private static func gcmSeal(_ runner: Runner, name: String, size: Int) async throws(CofferError) {
        let data = try Material(size: size)
        var cipher = try UnsafeNonceAEAD.prepare(.aes256GCM, key: SymmetricKey.copying(data.key.span))
        var sealed = [UInt8](repeating: 0, count: size + AEAD.tagSize)
        let peer = try BaselineGCM(key: data.key, nonce: data.nonce, input: data.plaintext, sealing: true)
        func ours(_ count: Int) async throws(CofferError) {
            try seal(data, &cipher, &sealed, times: count)
        }
        try await runner.compare(
            name, with: DerivationBenchmarks.openSSL, ours: ours,
            theirs: { (count) async throws(CofferError) in try peer.seal(times: count) },
            agree: { sealed == peer.output })
        try await SwiftCryptoPeer.compare(
            runner, name, "gcm-seal", size: size, key: data.key, nonce: data.nonce, ours: ours
        ) { sealed }
    }

    /// Seals the same message again and again. The peers' loops, too, have everything in local variables: one
    /// that a closure captures is checked for other uses at each access.
    private static func seal(
        _ data: Material, _ cipher: inout UnsafeNonceAEAD, _ sealed: inout [UInt8], times: Int
    ) throws(CofferError) {
        let (plaintext, nonce) = (data.plaintext.span, data.nonce.span)
        for _ in 0..<times {
            var span = sealed.mutableSpan
            try cipher.seal(plaintext, nonce: nonce, associatedData: Span(), into: &span)
        }
    }

    private static func open(
        _ sealed: [UInt8], _ nonce: [UInt8], _ cipher: inout AEAD, _ opened: inout [UInt8], times: Int
    ) throws(CofferError) {
        let (sealed, nonce) = (sealed.span, nonce.span)
        for _ in 0..<times {
            var span = opened.mutableSpan
            try cipher.open(sealed, nonce: nonce, associatedData: Span(), into: &span)
        }
    }

    private static func gcmOpen(_ runner: Runner, name: String, size: Int) async throws(CofferError) {
        let data = try Material(size: size)
        let sealer = try BaselineGCM(key: data.key, nonce: data.nonce, input: data.plaintext, sealing: true)
        try sealer.seal(times: 1)
        let sealed = sealer.output
        var cipher = try AEAD.prepare(.aes256GCM, key: SymmetricKey.copying(data.key.span))
        var opened = [UInt8](repeating: 0, count: size)
        let peer = try BaselineGCM(key: data.key, nonce: data.nonce, input: sealed, sealing: false)
        func ours(_ count: Int) async throws(CofferError) {
            try open(sealed, data.nonce, &cipher, &opened, times: count)
        }
        try await runner.compare(
            name, with: DerivationBenchmarks.openSSL, ours: ours,
            theirs: { (count) async throws(CofferError) in try peer.open(times: count) },
            agree: { opened == peer.output && opened == data.plaintext })
        try await SwiftCryptoPeer.compare(
            runner, name, "gcm-open", size: size, key: data.key, nonce: data.nonce, ours: ours
        ) { opened }
    }

    private static func cbcEncrypt(_ runner: Runner, name: String, size: Int) async throws(CofferError) {
        let data = try Material(size: size)
        let key = try SymmetricKey.copying(data.key.span)
        var cipher = try CBCKey.prepare(key: key)
        var ciphertext = [UInt8](repeating: 0, count: CBCKey.sealedSize(size))
        let peer = try BaselineCBC(key: data.key, iv: data.iv, input: data.plaintext, encrypting: true)
        func ours(_ count: Int) async throws(CofferError) {
            for _ in 0..<count {
                var span = ciphertext.mutableSpan
                _ = try cipher.seal(data.plaintext.span, iv: data.iv.span, into: &span)
            }
        }
        try await runner.compare(
            name, with: DerivationBenchmarks.openSSL, ours: ours,
            theirs: { (count) async throws(CofferError) in try peer.transform(times: count) },
            agree: { ciphertext.elementsEqual(peer.output.prefix(peer.written)) })
        try await SwiftCryptoPeer.compare(
            runner, name, "cbc256-encrypt", size: size, key: data.key, nonce: data.iv, ours: ours
        ) { ciphertext }
    }

    private static func cbcDecrypt(_ runner: Runner, name: String, size: Int) async throws(CofferError) {
        let data = try Material(size: size)
        let encryptor = try BaselineCBC(key: data.key, iv: data.iv, input: data.plaintext, encrypting: true)
        try encryptor.transform(times: 1)
        let ciphertext = Array(encryptor.output.prefix(encryptor.written))
        let key = try SymmetricKey.copying(data.key.span)
        var cipher = try CBCKey.prepare(key: key)
        var plaintext = [UInt8](repeating: 0, count: ciphertext.count)
        var written = 0
        let peer = try BaselineCBC(key: data.key, iv: data.iv, input: ciphertext, encrypting: false)
        func ours(_ count: Int) async throws(CofferError) {
            for _ in 0..<count {
                var span = plaintext.mutableSpan
                written = try cipher.open(ciphertext.span, iv: data.iv.span, into: &span)
            }
        }
        try await runner.compare(
            name, with: DerivationBenchmarks.openSSL, ours: ours,
            theirs: { (count) async throws(CofferError) in try peer.transform(times: count) },
            agree: {
                plaintext.prefix(written).elementsEqual(peer.output.prefix(peer.written))
                    && plaintext.prefix(written).elementsEqual(data.plaintext)
            })
        try await SwiftCryptoPeer.compare(
            runner, name, "cbc256-decrypt", size: size, key: data.key, nonce: data.iv, ours: ours
        ) { Array(plaintext.prefix(written)) }
    }

    private static func cbcHMAC(_ runner: Runner, name: String, size: Int) async throws(CofferError) {
        let data = try Material(size: size)
        let key = try SymmetricKey.copying(data.key.span)
        var cipher = try AuthenticatedCBC.prepare(key: key)
        var message = [UInt8](repeating: 0, count: AuthenticatedCBC.messageSize(size))
        let peer = try BaselineCBCHMAC(
            encryptionKey: derived(key, KDFLabel.cbcEncryption),
            authenticationKey: derived(key, KDFLabel.cbcAuthentication), iv: data.iv,
            header: [UInt8](repeating: 0, count: 8), plaintext: data.plaintext)
        try await runner.compare(
            name, with: DerivationBenchmarks.openSSL,
            ours: { (count) async throws(CofferError) in
                for _ in 0..<count {
                    var span = message.mutableSpan
                    try cipher.seal(
                        data.plaintext.span, choosingIV: data.iv.span, associatedData: Span(), into: &span)
                }
            },
            theirs: { (count) async throws(CofferError) in try peer.seal(times: count) },
            agree: { message == peer.message })
    }

    private static func derived(_ key: borrowing SymmetricKey, _ label: String) throws(CofferError) -> [UInt8]
    {
        let info = Array(label.utf8)
        let bytes = try HKDF.derive(from: key, info: info.span, count: 32)
        return bytes.exposing { $0.copied() }
    }

    /// The inputs of one benchmark.
    private struct Material {
        let key: [UInt8]
        let nonce: [UInt8]
        let iv: [UInt8]
        /// Byte i is i modulo 256, which another program can compute without receiving it.
        let plaintext: [UInt8]

        init(size: Int) throws(CofferError) {
            key = try SecureRandom.bytes(32)
            nonce = try SecureRandom.bytes(12)
            iv = try SecureRandom.bytes(16)
            plaintext = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
        }
    }
}
