import CofferBase
import CofferEngine

/// A message to sign or to verify, which is read from standard input.
enum MessageInput {
    /// The maximum number of bytes: a signature needs the whole message in memory.
    private static let largest = 64 << 20

    /// Returns the message.
    static func read() throws(CofferError) -> [UInt8] {
        let input = try Descriptor.standardInput()
        var message: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            var span = buffer.mutableSpan
            guard let count = try input.readSome(into: &span) else { return message }
            message += buffer[..<count]
            guard message.count <= largest else {
                throw CofferError(
                    .invalidInput,
                    "The message is longer than \(largest) bytes. Sign a digest of the message instead.")
            }
        }
    }
}
