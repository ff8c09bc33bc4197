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
        guard input.isTerminal else { return try Token(SecretBytes(SecretInput.line(from: input))) }
        let terminal = try Descriptor.open("/dev/tty", .readWrite)
        return try Token(SecretBytes(SecretInput.line(from: terminal, prompt: "Address of the last page: ")))
    }
}
