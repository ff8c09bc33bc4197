package import CofferBase
import CofferEngine
import SystemPackage

/// A question on the terminal that is answered with yes or no.
package enum TerminalQuestion {
    /// Asks a question on the controlling terminal. Anything but an answer that begins with Y or y is a no,
    /// as is the end of the input.
    ///
    /// - Parameter question: The question, without the possible answers.
    /// - Returns: Whether the answer is yes.
    /// - Throws: The system's error if there is no terminal.
    package static func isConfirmed(_ question: String) throws(CofferError) -> Bool {
        let terminal = try Descriptor.open("/dev/tty", .readWrite)
        let prompt = Array("\(question) [y/N]: ".utf8)
        try terminal.append(prompt.span)
        var first: UInt8?
        for _ in 0..<maxLength {
            var byte: [UInt8] = [0]
            var span = byte.mutableSpan
            guard try terminal.readSome(into: &span) != nil, byte[0] != UInt8(ascii: "\n") else { break }
            first = first ?? byte[0]
        }
        return first == UInt8(ascii: "y") || first == UInt8(ascii: "Y")
    }

    private static let maxLength = 1024
}
