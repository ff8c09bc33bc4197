package import CofferBase
package import CofferCrypto
package import CofferEngine
import Synchronization
import SystemPackage

/// Functions that read passcodes and keys from a descriptor or a terminal, but never from an argument or the
/// environment.
package enum PasscodeInput {
    /// Reads the first line of the given descriptor. Returns `nil` if no descriptor is given.
    package static func read(_ number: Int32?) throws(CofferError) -> SecretBytes? {
        guard let number else { return nil }
        return SecretBytes(try line(of: number))
    }

    /// Reads a secret from the given descriptor or, without echo, from a terminal. Returns `nil` if there is
    /// neither a descriptor nor a terminal.
    package static func readOrPrompt(
        _ number: Int32?, prompt: String = "Passcode: "
    ) throws(CofferError) -> SecretBytes? {
        if number != nil { return try read(number) }
        guard try Descriptor.standardInput().isTerminal else { return nil }
        let terminal = try Descriptor.open("/dev/tty", .readWrite)
        return SecretBytes(try SecretInput.line(from: terminal, prompt: prompt))
    }

    /// Reads a secret that must be present; `name` tells the user which, and `option` is the option that
    /// names its descriptor.
    package static func readRequired(
        _ number: Int32?, prompt: String = "Secret: ", name: String = "key's secret",
        option: String = "--passcode-fd"
    ) throws(CofferError) -> SecretBytes {
        guard let secret = try readOrPrompt(number, prompt: prompt) else {
            throw CofferError(
                .invalidInput,
                "The \(name) is required, but there is no terminal on which to ask for it. Specify the "
                    + "\(name) with \(option).")
        }
        return secret
    }

    /// Reads a key in hexadecimal from the first line of a descriptor.
    package static func key(fromHexOn number: Int32) throws(CofferError) -> SymmetricKey {
        let digits = try line(of: number)
        return SymmetricKey.adopting(SecretBytes(try Encoding.decodeHex(digits.span)))
    }

    /// The descriptors from which a line has been read.
    private static let taken = Mutex<Set<Int32>>([])

    /// Reads a vault's passcode from the first line of a descriptor. Discards a carriage return before the
    /// newline. Otherwise, a file written on Windows would contain a wrong passcode, which would cost an
    /// attempt.
    package static func passcode(on number: Int32) throws(CofferError) -> SecretBytes {
        SecretBytes(try line(of: number, droppingReturn: true))
    }

    /// Reads one line and closes the descriptor, so that no child process inherits it. Standard streams
    /// remain open, because a message may follow the line on standard input.
    package static func line(
        of number: Int32, droppingReturn: Bool = false
    ) throws(CofferError) -> GuardedBytes {
        // A standard stream can hold the next secret after this line; other descriptors end with their first
        // line.
        guard number <= 2 || taken.withLock({ $0.insert(number).inserted }) else {
            throw CofferError(
                .invalidInput,
                "Descriptor \(number) is specified for two secrets. Use a separate descriptor for each "
                    + "secret.")
        }
        let descriptor = try Descriptor.inherited(number)
        return try SecretInput.line(from: descriptor, droppingReturn: droppingReturn)
    }
}
