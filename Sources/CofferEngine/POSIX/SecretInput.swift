package import CofferBase

/// Functions that read secrets from descriptors and terminals straight into guarded memory.
package enum SecretInput {
    /// The maximum length in bytes of a line that contains a passcode.
    package static let maxLineLength = 4096

    /// Returns the first line of `descriptor`, without its newline. If the descriptor is a terminal, reads
    /// the line without echo.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor from which to read.
    ///   - prompt: The prompt for the user. It is displayed after the echo has been switched off, so input
    ///     that is typed immediately is not visible.
    ///   - droppingReturn: Whether a carriage return before the newline belongs to the line ending, as in
    ///     Windows files, and not to the secret.
    /// - Returns: The bytes of the line.
    /// - Throws: `invalidInput` if the line is too long or was typed with control characters, such as those
    ///   from Ctrl-Z or an arrow key; any error that occurs while reading `descriptor`.
    package static func line(
        from descriptor: borrowing Descriptor, prompt: String = "", droppingReturn: Bool = false
    ) throws(CofferError) -> GuardedBytes {
        let echo = TerminalEcho.off(descriptor)
        defer { echo?.restore() }
        let text = Array(prompt.utf8)
        if !text.isEmpty { try descriptor.append(text.span) }
        // The longest line and one more byte for its newline.
        var buffer = try GuardedBytes.zeroed(count: maxLineLength + 1)
        var count = 0
        // Read byte by byte: the bytes after the first line belong to another reader.
        while true {
            var span = buffer.mutableSpan
            var next = span._mutatingExtracting(count..<count + 1)
            guard try descriptor.readSome(into: &next) != nil else { break }
            if buffer.span[count] == UInt8(ascii: "\n") {
                let endsInReturn = count > 0 && buffer.span[count - 1] == UInt8(ascii: "\r")
                if droppingReturn, endsInReturn { count -= 1 }
                break
            }
            count += 1
            guard count <= maxLineLength else {
                throw CofferError(
                    .invalidInput, "The first line must be at most \(maxLineLength) bytes long.")
            }
        }
        let line = buffer.span.extracting(0..<count)
        guard echo == nil || !hasControlCharacter(line) else {
            throw CofferError(
                .invalidInput,
                "The typed line contains a control character, such as the one from Ctrl-Z or an arrow key. "
                    + "Type the line again without control characters. A secret that contains control "
                    + "characters can be read from a pipe or a file.")
        }
        return try GuardedBytes.copying(line)
    }

    private static func hasControlCharacter(_ line: Span<UInt8>) -> Bool {
        for index in line.indices where line[index] < 0x20 || line[index] == 0x7F { return true }
        return false
    }

    /// Returns everything up to the end of `descriptor`. Throws `invalidInput` if there are more than `limit`
    /// bytes, without reading a file that is known to be too long.
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
