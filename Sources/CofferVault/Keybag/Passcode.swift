public import CofferBase
public import CofferCrypto
import CofferEngine
import SystemPackage

/// A passcode in guarded memory, which is cleared when the passcode's last owner is released.
///
/// The passcode's bytes are used unchanged, without Unicode normalisation.
public final class Passcode: Sendable {
    package let secret: SecretBytes

    /// Creates a passcode from secret bytes and takes ownership of them.
    ///
    /// - Throws: `invalidInput` if the passcode is empty.
    public init(_ secret: consuming SecretBytes) throws(CofferError) {
        guard secret.count > 0 else { throw CofferError(.invalidInput, "The passcode must not be empty.") }
        self.secret = secret
    }

    /// Creates a passcode from the UTF-8 bytes of `text`. The string itself cannot be cleared, so read
    /// passcodes from a terminal or a descriptor if possible.
    ///
    /// - Throws: `invalidInput` if the passcode is empty.
    public convenience init(copying text: String) throws(CofferError) {
        try self.init(SecretBytes.copying(text))
    }

    /// Returns whether both passcodes are equal, in time that depends only on their lengths.
    public func isEqual(to other: Passcode) -> Bool { secret.isEqual(to: other.secret) }

    /// Reads one line from the controlling terminal without echo. For a new passcode, use
    /// ``readNewFromTerminal(prompt:confirmation:policy:)``.
    ///
    /// - Throws: `unsupported` if there is no terminal; `invalidInput` if the line is empty or contains
    ///   control characters.
    public static func readFromTerminal(prompt: String = "Passcode: ") throws(CofferError) -> Passcode {
        try Passcode(SecretBytes(SecretInput.line(from: terminal(), prompt: prompt)))
    }

    /// Opens the controlling terminal.
    static func terminal() throws(CofferError) -> Descriptor {
        do throws(CofferError) {
            return try Descriptor.open("/dev/tty", .readWrite)
        } catch {
            throw CofferError(
                .unsupported, "The passcode could not be requested because no terminal is available.")
        }
    }

    /// Reads a passcode from the first line of an open descriptor and closes the descriptor, so no child
    /// process inherits it. The line ends with either a newline or a carriage return and a newline, which are
    /// not part of the passcode.
    ///
    /// - Throws: `invalidInput` if the descriptor is not open or the line is empty.
    public static func read(fromDescriptor number: Int32) throws(CofferError) -> Passcode {
        let descriptor = try Descriptor.adopting(number)
        return try Passcode(SecretBytes(SecretInput.line(from: descriptor, droppingReturn: true)))
    }
}
