package import CofferBase

/// A growable buffer in guarded memory for secret bytes that arrive in pieces.
package struct GuardedBuffer: ~Copyable {
    private let limit: Int
    private var buffer: GuardedBytes
    private var count = 0

    private init(limit: Int, buffer: consuming GuardedBytes) {
        self.limit = limit
        self.buffer = buffer
    }

    static func tooLong(_ limit: Int) -> CofferError {
        CofferError(.invalidInput, "The input must be at most \(limit) bytes long.")
    }

    /// Creates a buffer for at most `limit` bytes.
    package static func make(limit: Int) throws(CofferError) -> GuardedBuffer {
        guard limit >= 0, limit < Int.max else {
            throw CofferError(
                .invalidInput, "The size limit must be 0 or more, and less than \(Int.max).")
        }
        return GuardedBuffer(limit: limit, buffer: try GuardedBytes.zeroed(count: min(4096, limit + 1)))
    }

    /// Appends the bytes that `read` writes to the span that it receives. Returns `false` if `read` returns
    /// `nil`, which indicates the end of the input.
    package mutating func append(
        _ read: (inout MutableSpan<UInt8>) throws(CofferError) -> Int?
    ) throws(CofferError) -> Bool {
        let start = count
        if start == buffer.count {
            let larger = try GuardedBytes.filled(count: min(start * 4, limit + 1)) {
                $0.write(buffer.span, at: 0)
            }
            buffer = larger
        }
        let end = buffer.count
        var span = buffer.mutableSpan
        var remaining = span._mutatingExtracting(start..<end)
        guard let more = try read(&remaining) else { return false }
        count += more
        guard count <= limit else {
            throw Self.tooLong(limit)
        }
        return true
    }

    /// Appends `bytes` to the buffer.
    package mutating func append(_ bytes: Span<UInt8>) throws(CofferError) {
        var done = 0
        while done < bytes.count {
            _ = try append { (span) throws(CofferError) in
                let piece = bytes.extracting(done..<min(bytes.count, done + span.count))
                span.write(piece, at: 0)
                done += piece.count
                return piece.count
            }
        }
    }

    /// Appends the UTF-8 bytes of `text`, which is not secret.
    package mutating func append(_ text: String) throws(CofferError) { try append(Array(text.utf8).span) }

    /// Returns a copy of the collected bytes.
    package func contents() throws(CofferError) -> GuardedBytes {
        try GuardedBytes.copying(buffer.span.extracting(0..<count))
    }

    /// Returns the collected bytes and consumes the buffer.
    package consuming func finish() throws(CofferError) -> GuardedBytes { try contents() }
}
