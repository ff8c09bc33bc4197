import CofferBase
import CofferEngine

/// The strict PEM form of age files: Base64 in lines of 64 characters between two fixed lines.
struct AgeArmor {
    private static let begin = Array("-----BEGIN AGE ENCRYPTED FILE-----".utf8)
    private static let end = Array("-----END AGE ENCRYPTED FILE-----".utf8)
    /// The maximum amount of white space before and after the two lines.
    static let whitespaceLimit = 1024
    private static let lineSize = 64
    private static let bytesPerLine = 48
    private static let readSize = 64 << 10

    private enum Stage { case begin, body, end, after }

    private var stage = Stage.begin
    /// Text that was read, and where in it the next line begins.
    private var text: [UInt8]
    private var position = 0
    private var hasEnded: Bool
    private var whitespace = 0
    /// Decoded bytes that did not fit into the caller's memory.
    private var rest: ArraySlice<UInt8> = []
    /// The error of a line, until the bytes of the lines before it were returned. So the same text gives the
    /// same bytes and the same error, whatever pieces it comes in.
    private var failure: CofferError?

    /// Creates a decoder for an input whose first bytes, `text`, were already read.
    init(beginningWith text: [UInt8], hasEnded: Bool) {
        self.text = text
        self.hasEnded = hasEnded
    }

    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    /// Decodes some bytes into `target`. Returns their number, or `nil` at the end.
    ///
    /// - Throws: `corrupt` if the text is not exactly in the form that age writes.
    mutating func read(
        into target: inout MutableSpan<UInt8>, _ input: AgeReader.Input
    ) throws(CofferError) -> Int? {
        var count = 0
        while count < target.count {
            if rest.isEmpty {
                guard let decoded = try line(input, isFirst: count == 0) else { break }
                rest = decoded[...]
            }
            let piece = Array(rest.prefix(target.count - count))
            target.write(piece.span, at: count)
            rest = rest.dropFirst(piece.count)
            count += piece.count
            // Another line may need the input, for which the caller should not have to wait.
            if rest.isEmpty, !hasLine { break }
        }
        return count > 0 ? count : nil
    }

    /// Decodes the next line, or throws the error of an earlier call. Unless `isFirst`, keeps an error for
    /// the next call and returns `nil`.
    private mutating func line(
        _ input: AgeReader.Input, isFirst: Bool
    ) throws(CofferError) -> [UInt8]? {
        if let failure { throw failure }
        do throws(CofferError) {
            return try decodeLine(input)
        } catch {
            failure = error
            guard isFirst else { return nil }
            throw error
        }
    }

    private var hasLine: Bool { hasEnded || text[position...].prefix(lineBound).contains(UInt8(ascii: "\n")) }
    private var lineBound: Int { Self.lineSize + 2 }

    /// Returns the bytes of the next line that has some, or `nil` at the end.
    private mutating func decodeLine(_ input: AgeReader.Input) throws(CofferError) -> [UInt8]? {
        while stage != .after {
            guard let line = try nextLine(input) else { throw Self.corruptError }
            switch stage {
            case .begin:
                if line.elementsEqual(Self.begin) {
                    stage = .body
                } else {
                    try allow(whitespace: line)
                }
            case .body, .end:
                if line.elementsEqual(Self.end) {
                    stage = .after
                } else {
                    return try decode(line)
                }
            case .after: break
            }
        }
        while let line = try nextLine(input) { try allow(whitespace: line) }
        return nil
    }

    private mutating func decode(_ line: ArraySlice<UInt8>) throws(CofferError) -> [UInt8] {
        guard stage == .body, !line.isEmpty, line.count <= Self.lineSize,
            let bytes = try? Encoding.decodeBase64Text(Array(line))
        else { throw Self.corruptError }
        // Only the last line may be shorter.
        if bytes.count < Self.bytesPerLine { stage = .end }
        return bytes
    }

    private mutating func allow(whitespace line: ArraySlice<UInt8>) throws(CofferError) {
        whitespace += line.count + 1
        guard line.allSatisfy(Self.isBlank), whitespace <= Self.whitespaceLimit else {
            throw Self.corruptError
        }
    }

    /// Returns the next line without its end, or `nil` at the end of the input.
    private mutating func nextLine(_ input: AgeReader.Input) throws(CofferError) -> ArraySlice<UInt8>? {
        while true {
            if let end = text[position...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = text[position..<end]
                position = end + 1
                return line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            }
            guard text.count - position <= max(lineBound, Self.whitespaceLimit) else {
                throw Self.corruptError
            }
            if hasEnded {
                guard position < text.count else { return nil }
                defer { position = text.count }
                return text[position...]
            }
            try readMore(input)
        }
    }

    private mutating func readMore(_ input: AgeReader.Input) throws(CofferError) {
        text.removeFirst(position)
        position = 0
        let start = text.count
        text += [UInt8](repeating: 0, count: Self.readSize)
        var span = text.mutableSpan
        var free = span._mutatingExtracting(start...)
        let count = try input(&free) ?? 0
        hasEnded = count == 0
        guard (0...Self.readSize).contains(count) else {
            throw CofferError(.internalFailure, "The input of the age file reported \(count) bytes.")
        }
        text.removeLast(Self.readSize - count)
    }

    private static var corruptError: CofferError {
        CofferError(
            .corrupt, "The text form (armor) of the age file is damaged or incomplete.",
            remedy: .useAnotherCopy)
    }
}
