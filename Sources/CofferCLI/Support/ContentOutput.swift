import CofferBase
import CofferCommandLine
import CofferEngine
import Synchronization

/// Decides whether bytes are text that does nothing to a terminal but appear there: UTF-8 without control
/// characters other than tabs and line ends.
///
/// The bytes may come in parts that split a character. They are examined one by one, so that a secret is not
/// copied into a string.
struct TerminalText: Sendable {
    private var scalar: UInt32 = 0
    private var smallest: UInt32 = 0
    /// The number of bytes that the current character still needs.
    private var missing = 0
    /// The number of bytes of the current character that have been examined.
    private var seen = 0
    /// Whether the last byte was a carriage return, which is part of a line end or overwrites a line.
    private var isAfterReturn = false

    /// The number of bytes at the end that only later bytes can complete: the beginning of a character or of
    /// a line end.
    var unfinishedCount: Int {
        if isAfterReturn { return 1 }
        return missing > 0 ? seen : 0
    }

    /// Returns whether the next bytes continue the text.
    mutating func accept(_ bytes: Span<UInt8>) -> Bool {
        for index in bytes.indices {
            guard accept(bytes[index]) else { return false }
        }
        return true
    }

    private mutating func accept(_ byte: UInt8) -> Bool {
        if isAfterReturn {
            isAfterReturn = false
            return byte == 0x0A
        }
        if missing > 0 { return acceptContinuation(byte) }
        switch byte {
        case 0x09, 0x0A, 0x20...0x7E: break
        case 0x0D: isAfterReturn = true
        case 0xC2...0xDF: begin(byte & 0x1F, missing: 1, smallest: 0x80)
        case 0xE0...0xEF: begin(byte & 0x0F, missing: 2, smallest: 0x800)
        case 0xF0...0xF4: begin(byte & 0x07, missing: 3, smallest: 0x10000)
        default: return false
        }
        return true
    }

    private mutating func begin(_ bits: UInt8, missing count: Int, smallest value: UInt32) {
        scalar = UInt32(bits)
        missing = count
        seen = 1
        smallest = value
    }

    private mutating func acceptContinuation(_ byte: UInt8) -> Bool {
        guard byte & 0xC0 == 0x80 else { return false }
        scalar = scalar << 6 | UInt32(byte & 0x3F)
        missing -= 1
        seen += 1
        guard missing == 0 else { return true }
        guard scalar >= smallest, let character = Unicode.Scalar(scalar) else { return false }
        return !character.isControl
    }
}

/// Writes stored content to standard output. A terminal gets only text, unless the user forces the rest.
final class ContentOutput: Sendable {
    /// The progress of a guarded output.
    private struct State: Sendable {
        private var text = TerminalText()
        /// The bytes at the end of the previous parts that only later bytes can complete, at most three.
        private(set) var unfinished: [UInt8] = []
        /// The number of bytes that have been passed on to the terminal.
        private(set) var passed = 0

        /// Returns the bytes held back from earlier parts and the number of new bytes that can be written
        /// now; `nil` if the new bytes are not text.
        mutating func accept(_ bytes: Span<UInt8>) -> (held: [UInt8], count: Int)? {
            guard text.accept(bytes) else { return nil }
            let end = text.unfinishedCount
            guard end <= bytes.count else {
                unfinished += bytes.copied()
                return ([], 0)
            }
            let held = unfinished
            let count = bytes.count - end
            unfinished = bytes.extracting(count...).copied()
            passed += held.count + count
            return (held, count)
        }
    }

    private let isGuarded: Bool
    private let state = Mutex(State())

    init(forcing: Bool) throws(CofferError) {
        guard !forcing else {
            isGuarded = false
            return
        }
        isGuarded = try Descriptor.standardOutput().isTerminal
    }

    /// Writes complete content.
    ///
    /// - Throws: `refused` if a terminal could take a byte for a control character; nothing has been written
    ///   then.
    func writeAll(_ bytes: Span<UInt8>) throws(CofferError) {
        if isGuarded {
            var text = TerminalText()
            guard text.accept(bytes), text.unfinishedCount == 0 else { throw Self.refusal(after: 0) }
        }
        try Output.bytes(bytes)
    }

    /// Writes the next bytes, except an unfinished character or line end, which later bytes must complete.
    /// Call ``finish()`` after the last bytes.
    ///
    /// - Throws: `refused` if a terminal could take one of them for a control character; none of them has
    ///   been written then.
    func write(_ bytes: Span<UInt8>) throws(CofferError) {
        guard isGuarded else { return try Output.bytes(bytes) }
        guard let accepted = state.withLock({ $0.accept(bytes) }) else {
            throw Self.refusal(after: state.withLock { $0.passed })
        }
        if !accepted.held.isEmpty { try Output.bytes(accepted.held.span) }
        if accepted.count > 0 { try Output.bytes(bytes.extracting(..<accepted.count)) }
    }

    /// Ends the content.
    ///
    /// - Throws: `refused` if it ends with an unfinished character, or with a carriage return that is not
    ///   part of a line end; these bytes have not been written.
    func finish() throws(CofferError) {
        let (isWhole, passed) = state.withLock { ($0.unfinished.isEmpty, $0.passed) }
        guard isWhole else { throw Self.refusal(after: passed) }
    }

    private static func refusal(after count: Int) -> CofferError {
        let extent =
            count == 0
            ? "The content was not printed, because the terminal could interpret some bytes as control "
                + "characters."
            : "Only the first \(Plural.of(count, "byte")) of the content \(count == 1 ? "was" : "were") "
                + "printed, because the terminal could interpret some of the bytes after them as control "
                + "characters."
        return CofferError(
            .refused, "\(extent) To print the content anyway, specify --force.")
    }
}
