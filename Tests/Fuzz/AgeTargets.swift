@testable import CofferCrypto
import CofferBase
import CofferEngine

/// age files: whole ones, headers, payloads, and the texts of keys.
extension FuzzTarget {
    static let age = [
        FuzzTarget("age") { bytes, _ in try readAgeFile(bytes) },
        FuzzTarget("age-header") { bytes, _ in try readAgeHeader(bytes) },
        FuzzTarget("age-payload") { bytes, _ in try readAgePayload(bytes) },
        FuzzTarget("age-key") { bytes, _ in try readAgeKeys(bytes) },
    ]

    /// The identity of Vectors/age.json, to which the kept inputs are encrypted.
    private static let identity =
        "AGE-SECRET-KEY-17LKJKQ827Y3YZDM66RY7N3PTD2AY8TZQG207WN8ZAQMJ2PK0XNAQGUKKFK"

    private struct Outcome: Equatable {
        var plaintext: [UInt8] = []
        var code: CofferError.Code?
    }

    /// A file is read the same way in whatever pieces it comes.
    private static func readAgeFile(_ bytes: [UInt8]) throws {
        let identity = try AgeIdentity.parse(Array(identity.utf8).span)
        let whole = outcome(bytes, step: .max, identity)
        for step in [1, 64, 1000] where bytes.count / step < 4096 {
            try FuzzFinding.require(
                outcome(bytes, step: step, identity) == whole, "a file is read otherwise in pieces of \(step)"
            )
        }
    }

    private static func outcome(_ bytes: [UInt8], step: Int, _ identity: AgeIdentity) -> Outcome {
        var position = 0
        func next(_ span: inout MutableSpan<UInt8>) -> Int? {
            let count = min(step, span.count, bytes.count - position)
            span.write(bytes.span.extracting(position..<position + count), at: 0)
            position += count
            return count == 0 ? nil : count
        }
        var outcome = Outcome()
        do throws(CofferError) {
            var reader = try AgeReader.open(identities: [identity]) { next(&$0) }
            while let piece = try reader.next(input: { next(&$0) }, { $0.copied() }) {
                outcome.plaintext += piece
            }
        } catch {
            outcome.code = error.code
        }
        return outcome
    }

    /// A header that was read is written as it was: there is one text for each.
    private static func readAgeHeader(_ bytes: [UInt8]) throws {
        let header = try AgeHeader(parsing: bytes)
        try FuzzFinding.require(try header.encoded() == bytes, "a header comes back as another")
        var authenticated = AgeHeader.versionLine + [UInt8(ascii: "\n")]
        for stanza in header.stanzas { authenticated += try stanza.encoded() }
        try FuzzFinding.require(
            authenticated + AgeHeader.end == header.authenticated, "a stanza comes back as another")
        _ = try AgeStanzas(header)
    }

    /// Chunks under a known key.
    private static func readAgePayload(_ bytes: [UInt8]) throws {
        let key = try SymmetricKey.copying([UInt8](repeating: 7, count: 32).span)
        var cipher = try AgeChunkCipher.make(key: key)
        var position = 0
        func next(_ span: inout MutableSpan<UInt8>) -> Int? {
            let count = min(span.count, bytes.count - position)
            span.write(bytes.span.extracting(position..<position + count), at: 0)
            position += count
            return count == 0 ? nil : count
        }
        var source = try AgeSource.start { next(&$0) }
        var read = 0
        while let chunk = try source.open(&cipher, { next(&$0) }) {
            read += chunk.plaintext.count + AEAD.tagSize
            guard chunk.isLast else { continue }
            return try FuzzFinding.require(read == bytes.count, "bytes behind the last chunk are not seen")
        }
    }

    /// A key has one text.
    private static func readAgeKeys(_ bytes: [UInt8]) throws {
        if let recipient = try? AgeRecipient(String(decoding: bytes, as: UTF8.self)) {
            let text = try Bech32.recipient.encode(recipient.publicKey.span)
            try FuzzFinding.require(text.span.copied() == bytes, "a recipient comes back as another")
        }
        if let identity = try? AgeIdentity.parse(bytes.span) {
            let text = try identity.text()
            try FuzzFinding.require(
                text.exposing { $0.copied() } == bytes, "an identity comes back as another")
        }
        _ = try? AgeRecipient.list(in: bytes.span)
        _ = try AgeIdentity.list(in: bytes.span)
    }
}
