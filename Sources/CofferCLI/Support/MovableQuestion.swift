import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

/// The question, at the creation of a vault on a terminal, whether new items may leave this device.
enum MovableQuestion {
    private static let text =
        "Should a backup be able to restore what you store on another machine (m), or should it be useless "
        + "on any other machine, and so be lost with this one (h)? [h]: "
    private static let maxLength = 256

    /// Asks the question on the terminal. Returns whether new items are to be movable; without an answer, or
    /// without a terminal, they are not.
    static func ask() throws(CofferError) -> Bool {
        guard try Descriptor.standardInput().isTerminal else { return false }
        let terminal = try Descriptor.open("/dev/tty", .readWrite)
        let prompt = Array(text.utf8)
        try terminal.append(prompt.span)
        // A terminal delivers one line at a time.
        var answer = [UInt8](repeating: 0, count: maxLength)
        var span = answer.mutableSpan
        guard let count = try terminal.readSome(into: &span), count > 0 else { return false }
        return answer[0] | 0x20 == UInt8(ascii: "m")
    }
}
