import CofferBase
import CofferCrypto
import CofferEngine

/// Messages of every kind that were never sealed, so none may open.
extension FuzzTarget {
    static let messages = [FuzzTarget("messages") { bytes, _ in try openEach(bytes) }]

    private static let algorithms: [AEAD.Algorithm] = [
        .aes128GCM, .aes256GCM, .chaCha20Poly1305, .xChaCha20Poly1305,
    ]

    private static func openEach(_ bytes: [UInt8]) throws {
        guard let choice = bytes.first else { return }
        let message = Array(bytes.dropFirst())
        let isSmall = choice % 8 == 0
        let key = try SymmetricKey.copying([UInt8](repeating: choice, count: isSmall ? 16 : 32).span)
        switch choice % 8 {
        case 0...3:
            var aead = try AEAD.prepare(algorithms[Int(choice % 8)], key: key)
            _ = try aead.open(message.span)
        case 4:
            var scheme = try AuthenticatedCBC.prepare(key: key)
            _ = try scheme.open(message.span)
        case 5: _ = try KeyWrapPadded.unwrap(message.span, under: key)
        case 6: _ = try KeyWrap.unwrap(message.span, under: key)
        default:
            // Not authenticated: one in 256 has a padding that could be one.
            _ = try Insecure.DocumentedCBC.decrypt(message.span, key: key)
            return
        }
        throw FuzzFinding("a message that nobody sealed opens")
    }
}
