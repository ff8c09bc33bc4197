package import CofferBase
package import CofferEngine

/// The framing of an SSH agent's messages: a length in four bytes, and the message.
package enum SSHAgentWire {
    /// Reads a request.
    ///
    /// - Parameters:
    ///   - connection: The connection.
    ///   - end: The time since the start of the machine until which the message must be complete.
    /// - Returns: The request; `nil` if the connection ended, or if the message is empty or too long.
    /// - Throws: `timedOut`; `outOfMemory`.
    package static func read(
        _ connection: LocalConnection, until end: Duration
    ) throws(CofferError) -> SSHAgentRequest? {
        var head = [UInt8](repeating: 0, count: 5)
        var span = head.mutableSpan
        guard try connection.read(into: &span, until: end) else { return nil }
        let count = head[..<4].reduce(0) { $0 << 8 | Int($1) }
        guard 1...SSHAgentRequest.largest ~= count else { return nil }
        let first = head[4]
        guard SSHAgentRequest.isSecret(first) else {
            var message = [UInt8](repeating: 0, count: count)
            message[0] = first
            var rest = message.mutableSpan
            guard try connection.read(into: &rest, from: 1, until: end) else { return nil }
            return try SSHAgentRequest.decode(message.span)
        }
        var isWhole = true
        let message = try GuardedBytes.filled(count: count) { (span) throws(CofferError) in
            span[0] = first
            isWhole = try connection.read(into: &span, from: 1, until: end)
        }
        return isWhole ? try SSHAgentRequest.decode(message.span) : nil
    }

    /// Writes an answer. Returns whether the client took it.
    ///
    /// - Throws: `timedOut`, if the client does not read.
    package static func write(
        _ answer: [UInt8], to connection: LocalConnection, until end: Duration
    ) throws(CofferError) -> Bool {
        var writer = SSHWriter()
        writer.append(string: answer)
        return try connection.write(writer.bytes.span, until: end)
    }
}
