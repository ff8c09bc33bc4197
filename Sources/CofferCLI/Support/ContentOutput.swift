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
    /// Whether the last byte was a carriage return, which is part of a line end or overwrites a line.
    private var isAfterReturn = false

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
        smallest = value
    }

    private mutating func acceptContinuation(_ byte: UInt8) -> Bool {
        guard byte & 0xC0 == 0x80 else { return false }
        scalar = scalar << 6 | UInt32(byte & 0x3F)
        missing -= 1
        guard missing == 0 else { return true }
        guard scalar >= smallest, let character = Unicode.Scalar(scalar) else { return false }
        return !character.isControl
    }
}

/// Writes stored content to standard output. A terminal gets only text, unless the user forces the rest.
final class ContentOutput: Sendable {
    private let isGuarded: Bool
    private let text = Mutex(TerminalText())

    init(forcing: Bool) throws(CofferError) {
        guard !forcing else {
            isGuarded = false
            return
        }
        isGuarded = try Descriptor.standardOutput().isTerminal
    }

    /// Writes the next bytes.
    ///
    /// - Throws: `refused` if a terminal could take one of them for a control character; none of them has
    ///   been written then.
    func write(_ bytes: Span<UInt8>) throws(CofferError) {
        if isGuarded {
            let isText = text.withLock { $0.accept(bytes) }
            guard isText else { throw Self.controls }
        }
        try Output.bytes(bytes)
    }

    private static var controls: CofferError {
        CofferError(
            .refused,
            "The content was not printed, because the terminal could interpret some bytes as control "
                + "characters. To print the content anyway, specify --force.")
    }
}
