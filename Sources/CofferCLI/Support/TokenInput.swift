import Coffer
import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import SystemPackage

/// A function that reads a token's value.
enum TokenInput {
    /// The maximum number of bytes, not including the newline, that the kernel passes on from a typed line.
    /// The kernel discards the rest.
    private static let maxTypedLength = 4094

    /// Reads the token. On a terminal, the token is one line that is typed without echo; otherwise, it is all
    /// of standard input, byte for byte.
    ///
    /// - Throws: `invalidInput` if the token is empty, or if a typed line contains control characters or is
    ///   longer than a terminal can pass on.
    static func read() throws(CofferError) -> Token {
        let input = try Descriptor.standardInput()
        guard input.isTerminal else {
            let bytes = try SecretInput.all(from: input, limit: Token.maxByteCount)
            guard bytes.count > 0 else {
                throw CofferError(
                    .invalidInput,
                    "No token was stored, because standard input is empty. Write the token to "
                        + "standard input.")
            }
            if endsWithNewline(bytes) {
                Output.message(
                    "coffer: The stored token ends with a newline. To store a token without one, use "
                        + "printf instead of echo.")
            }
            return try Token(SecretBytes(bytes))
        }
        let terminal = try Descriptor.open("/dev/tty", .readWrite)
        let line = try SecretInput.line(from: terminal, prompt: "Token: ")
        guard line.count > 0 else {
            throw CofferError(.invalidInput, "No token was stored, because the token is empty.")
        }
        guard line.count <= maxTypedLength else {
            throw CofferError(
                .invalidInput,
                "No token was stored, because a terminal passes on at most \(maxTypedLength) bytes of a "
                    + "line. Write the token to standard input through a pipe or from a file.")
        }
        return try Token(SecretBytes(line))
    }

    private static func endsWithNewline(_ bytes: borrowing GuardedBytes) -> Bool {
        bytes.span[bytes.count - 1] == UInt8(ascii: "\n")
    }
}
