import CofferBase
import CofferCrypto
import CofferEngine

/// The tests for age files. A valid file opens to its plaintext, whatever the pieces in which it is read.
/// Bytes that are passed on before a refusal must be the beginning of the plaintext.
extension VectorTest {
    static let age = VectorTest(
        ["AgeTest"], fields: ["identity", "passphrase", "file", "msg"], control: "file"
    ) { (test, _) throws(MalformedVector) in
        let (file, expected) = (try test.bytes("file"), try test.bytes("msg"))
        let (identity, passphrase) = (try test.text("identity"), try test.bytes("passphrase"))
        guard identity.isEmpty != passphrase.isEmpty else {
            throw MalformedVector("there must be either an identity or a passphrase")
        }
        var served: [UInt8] = []
        for step in [Int.max, 1000] {
            served = []
            do throws(CofferError) {
                try read(file, step: step, identity: identity, passphrase: passphrase) { served += $0 }
                guard served == expected else { return .wrong("it opens to different content") }
            } catch {
                guard expected.starts(with: served) else {
                    return .wrong("bytes other than the plaintext were served before the refusal")
                }
                return .refused(error.code)
            }
        }
        return .agrees
    }

    private static func read(
        _ file: [UInt8], step: Int, identity: String, passphrase: [UInt8], _ body: ([UInt8]) -> Void
    ) throws(CofferError) {
        var position = 0
        func next(_ span: inout MutableSpan<UInt8>) -> Int? {
            let count = min(step, span.count, file.count - position)
            span.write(file.span.extracting(position..<position + count), at: 0)
            position += count
            return count == 0 ? nil : count
        }
        var reader: AgeReader
        if identity.isEmpty {
            reader = try AgeReader.open(passphrase: try SecretBytes.copying(passphrase.span)) { next(&$0) }
        } else {
            let key = try AgeIdentity.parse(Array(identity.utf8).span)
            reader = try AgeReader.open(identities: [key]) { next(&$0) }
        }
        while let piece = try reader.next(input: { next(&$0) }, { $0.copied() }) { body(piece) }
    }
}
