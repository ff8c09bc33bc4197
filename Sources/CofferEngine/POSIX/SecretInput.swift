package import CofferBase

/// Secrets read from descriptors and terminals straight into guarded memory.
package enum SecretInput {
    /// The longest line taken as a passcode, in bytes.
    package static let longestLine = 4096

    /// The first line of `descriptor`, without its newline; without echo when it is a terminal.
    ///
    /// - Parameters:
    ///   - descriptor: Where it comes from.
    ///   - prompt: What a person is asked with, once the echo is off: whoever types at once is not shown.
    /// - Returns: The line.
    /// - Throws: `invalidInput` for a line that is too long; what hinders reading.
    package static func line(
        from descriptor: borrowing Descriptor, prompt: String = ""
    ) throws(CofferError) -> GuardedBytes {
        let echo = TerminalEcho.off(descriptor)
        defer { echo?.restore() }
        let text = Array(prompt.utf8)
        if !text.isEmpty { try descriptor.append(text.span) }
        // One byte more than the longest line: its newline.
        var buffer = try GuardedBytes.zeroed(count: longestLine + 1)
        var count = 0
        // Byte by byte: what follows the first line belongs to somebody else.
        while true {
            var span = buffer.mutableSpan
            var next = span._mutatingExtracting(count..<count + 1)
            guard try descriptor.readSome(into: &next) != nil else { break }
            if buffer.span[count] == UInt8(ascii: "\n") { break }
            count += 1
            guard count <= longestLine else {
                throw CofferError(.invalidInput, "The first line is longer than \(longestLine) bytes.")
            }
        }
        return try GuardedBytes.copying(buffer.span.extracting(0..<count))
    }

    /// Everything up to the end of `descriptor`; more than `limit` bytes is refused.
    package static func all(
        from descriptor: borrowing Descriptor, limit: Int
    ) throws(CofferError) -> GuardedBytes {
        guard limit >= 0, limit < Int.max else { throw CofferError(.invalidInput, "No such limit.") }
        var capacity = min(4096, limit + 1)
        var buffer = try GuardedBytes.zeroed(count: capacity)
        var count = 0
        while true {
            if count == capacity {
                guard count <= limit else {
                    throw CofferError(.invalidInput, "The input is longer than \(limit) bytes.")
                }
                capacity = min(capacity * 4, limit + 1)
                let filled = buffer
                buffer = try GuardedBytes.filled(count: capacity) {
                    $0.write(filled.span.extracting(0..<count), at: 0)
                }
            }
            var span = buffer.mutableSpan
            var rest = span._mutatingExtracting(count..<capacity)
            guard let more = try descriptor.readSome(into: &rest) else { break }
            count += more
        }
        guard count <= limit else {
            throw CofferError(.invalidInput, "The input is longer than \(limit) bytes.")
        }
        return try GuardedBytes.copying(buffer.span.extracting(0..<count))
    }
}
