import CofferBase
import CofferCrypto
import CofferEngine
import Synchronization
import SystemPackage

/// Where passcodes and keys come from: a descriptor or a terminal, never an argument or the environment.
enum PasscodeInput {
    /// The first line of the descriptor that the caller gave; `nil` when it gave none.
    static func read(_ number: Int32?) throws(CofferError) -> SecretBytes? {
        guard let number else { return nil }
        return SecretBytes(try line(of: number))
    }

    /// The same, or what a person types without echo; `nil` when there is no terminal either.
    static func readOrPrompt(
        _ number: Int32?, prompt: String = "Passcode: "
    ) throws(CofferError) -> SecretBytes? {
        if number != nil { return try read(number) }
        guard try Descriptor.standardInput().isTerminal else { return nil }
        let terminal = try Descriptor.open("/dev/tty", .readWrite)
        return SecretBytes(try SecretInput.line(from: terminal, prompt: prompt))
    }

    /// The same, which must be there; `option` is the one that names the descriptor.
    static func readRequired(
        _ number: Int32?, prompt: String = "Passcode: ", option: String = "--passcode-fd"
    ) throws(CofferError) -> SecretBytes {
        guard let secret = try readOrPrompt(number, prompt: prompt) else {
            throw CofferError(.invalidInput, "A secret is needed: give it with \(option).")
        }
        return secret
    }

    /// A key in hexadecimal on the first line of a descriptor.
    static func key(fromHexOn number: Int32) throws(CofferError) -> SymmetricKey {
        let digits = try line(of: number)
        return SymmetricKey.adopting(SecretBytes(try Encoding.decodeHex(digits.span)))
    }

    /// The descriptors that a line was read from.
    private static let taken = Mutex<Set<Int32>>([])

    /// Reads one line and closes the descriptor, so that no child inherits it. The standard streams stay
    /// open: what follows the line on standard input is the message.
    static func line(of number: Int32) throws(CofferError) -> GuardedBytes {
        // What follows on a standard stream is the next secret; the others end with their first line.
        guard number <= 2 || taken.withLock({ $0.insert(number).inserted }) else {
            throw CofferError(
                .invalidInput,
                "Descriptor \(number) is named for two secrets: give each secret a descriptor of its own.")
        }
        let descriptor = try Descriptor.inherited(number)
        return try SecretInput.line(from: descriptor)
    }
}
