import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import SystemPackage

/// The address that a user copies from the browser. It contains a code, so it is a secret.
enum PastedAddress {
    /// Reads the address: without echo on a terminal, otherwise the first line of standard input.
    static func read() throws(CofferError) -> Token {
        let input = try Descriptor.standardInput()
        guard input.isTerminal else {
            return try token(
                try SecretInput.line(from: input),
                "standard input, which is not a terminal. Run the command on a terminal")
        }
        let terminal = try Descriptor.open("/dev/tty", .readWrite)
        return try token(
            try SecretInput.line(from: terminal, prompt: "Address of the last page (not shown): "),
            "the terminal. Run the command again")
    }

    /// Returns the line without quotation marks around it, with which some programs copy addresses.
    private static func token(
        _ line: borrowing GuardedBytes, _ source: String
    ) throws(CofferError) -> Token {
        let range = unquoted(line.span)
        guard !range.isEmpty else {
            throw CofferError(
                .invalidInput,
                "No address came from \(source) and paste the address of the last page, or sign in with "
                    + "--device.")
        }
        return try Token(SecretBytes(try GuardedBytes.copying(line.span.extracting(range))))
    }

    private static func unquoted(_ line: Span<UInt8>) -> Range<Int> {
        var (start, end) = (0, line.count)
        while start < end, isSpace(line[start]) { start += 1 }
        while end > start, isSpace(line[end - 1]) { end -= 1 }
        guard end - start >= 2, line[start] == line[end - 1],
            line[start] == UInt8(ascii: "\"") || line[start] == UInt8(ascii: "'")
        else { return start..<end }
        return start + 1..<end - 1
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}
