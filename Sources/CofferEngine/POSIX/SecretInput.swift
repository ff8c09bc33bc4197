package import CofferBase

/// Secrets read from descriptors and terminals straight into guarded memory.
package enum SecretInput {
    /// The longest line taken as a passcode, in bytes.
    package static let maxLineLength = 4096

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
        var buffer = try GuardedBytes.zeroed(count: maxLineLength + 1)
        var count = 0
        // Byte by byte: what follows the first line belongs to somebody else.
        while true {
            var span = buffer.mutableSpan
            var next = span._mutatingExtracting(count..<count + 1)
            guard try descriptor.readSome(into: &next) != nil else { break }
            if buffer.span[count] == UInt8(ascii: "\n") { break }
            count += 1
            guard count <= maxLineLength else {
                throw CofferError(.invalidInput, "The first line is longer than \(maxLineLength) bytes.")
            }
        }
        return try GuardedBytes.copying(buffer.span.extracting(0..<count))
    }

    /// Everything up to the end of `descriptor`; more than `limit` bytes is refused, and of a file without
    /// reading it.
    package static func all(
        from descriptor: borrowing Descriptor, limit: Int
    ) throws(CofferError) -> GuardedBytes {
        if let left = try descriptor.bytesLeft(), left > Int64(limit) {
            throw GuardedBuffer.tooLong(limit)
        }
        var collector = try GuardedBuffer.make(limit: limit)
        while try collector.append({ (span) throws(CofferError) in try descriptor.readSome(into: &span) }) {}
        return try collector.finish()
    }
}
