import CofferBase
import CofferCrypto
import CofferEngine

/// age files in memory.
enum AgeFiles {
    /// An input that reads `bytes`, at most `step` of them at a time.
    struct Source {
        private var rest: ArraySlice<UInt8>
        private let step: Int
        /// The most bytes that were asked for at once.
        private(set) var largest = 0

        init(_ bytes: [UInt8], step: Int = .max) {
            rest = bytes[...]
            self.step = step
        }

        mutating func read(into span: inout MutableSpan<UInt8>) -> Int? {
            largest = max(largest, span.count)
            guard !rest.isEmpty else { return nil }
            let piece = Array(rest.prefix(min(step, span.count)))
            span.write(piece.span, at: 0)
            rest = rest.dropFirst(piece.count)
            return piece.count
        }
    }

    /// Encrypts `plaintext`, which the writer gets in pieces of `step` bytes.
    static func encrypted(
        _ plaintext: [UInt8], to recipients: [AgeRecipient], step: Int = .max
    ) throws -> [UInt8] {
        var file: [UInt8] = []
        let writer = try AgeWriter.start(to: recipients) { file += $0.copied() }
        try finish(writer, plaintext, step) { file += $0.copied() }
        return file
    }

    /// Encrypts `plaintext` with a passphrase at a low cost.
    static func encrypted(
        _ plaintext: [UInt8], passphrase: String, workFactor: Int = 2
    ) throws -> [UInt8] {
        var file: [UInt8] = []
        let writer = try AgeWriter.start(
            passphrase: try SecretBytes.copying(passphrase), workFactor: workFactor
        ) { file += $0.copied() }
        try finish(writer, plaintext, .max) { file += $0.copied() }
        return file
    }

    private static func finish(
        _ writer: consuming AgeWriter, _ plaintext: [UInt8], _ step: Int, _ output: AgeWriter.Output
    ) throws {
        var writer = writer
        var start = 0
        while start < plaintext.count {
            let end = start + min(step, plaintext.count - start)
            try writer.write(plaintext.span.extracting(start..<end), output: output)
            start = end
        }
        try writer.finish(output: output)
    }

    /// The decrypted bytes, and how the decryption ended.
    struct Outcome {
        var plaintext: [UInt8] = []
        var code: CofferError.Code?
        var message = ""
    }

    /// Decrypts `file` as far as possible.
    static func decrypted(_ file: [UInt8], _ identities: [AgeIdentity], step: Int = .max) -> Outcome {
        var source = Source(file, step: step)
        return outcome(&source) { (source) throws(CofferError) in
            try AgeReader.open(identities: identities) { source.read(into: &$0) }
        }
    }

    /// Decrypts `file` with a passphrase.
    static func decrypted(_ file: [UInt8], passphrase: String) -> Outcome {
        var source = Source(file)
        return outcome(&source) { (source) throws(CofferError) in
            let passphrase = try SecretBytes.copying(passphrase)
            return try AgeReader.open(passphrase: passphrase) { source.read(into: &$0) }
        }
    }

    private static func outcome(
        _ source: inout Source, _ open: (inout Source) throws(CofferError) -> AgeReader
    ) -> Outcome {
        var outcome = Outcome()
        do throws(CofferError) {
            var reader = try open(&source)
            while let piece = try reader.next(input: { source.read(into: &$0) }, { $0.copied() }) {
                outcome.plaintext += piece
            }
        } catch {
            outcome.code = error.code
            outcome.message = error.message
        }
        return outcome
    }

    /// Bytes of which no two chunks are equal.
    static func sample(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8 ^ $0 >> 16 &* 31) }
    }
}
