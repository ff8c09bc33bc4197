import CofferBase
import CofferEngine

/// The bytes of an age file as they are read: encrypted, and after a chunk is opened in place, its plaintext.
struct AgeSource: ~Copyable {
    /// The buffer's size: four chunks, and the byte that shows whether the last of them is the file's last.
    private static let size = 4 * AgeChunkCipher.sealedSize + 1

    /// Guarded memory, because plaintext is in it.
    private var buffer: GuardedBytes
    /// The bytes in the buffer that are not consumed yet.
    private var unread = 0..<0
    private var armor: AgeArmor?
    /// Whether the input has ended.
    private var hasEnded = false

    private init(_ buffer: consuming GuardedBytes) { self.buffer = buffer }

    /// Creates a source and finds out whether the input is armored.
    static func start(_ input: AgeReader.Input) throws(CofferError) -> AgeSource {
        var source = AgeSource(try GuardedBytes.zeroed(count: size))
        var known = 0
        // An encrypted file in binary form begins with a letter.
        while known < AgeArmor.whitespaceLimit {
            try source.fill(atLeast: known + 1, input)
            guard known < source.count else { return source }
            let first = source.buffer.span[known]
            if first == UInt8(ascii: "-") {
                source.armor = AgeArmor(beginningWith: source.bytes.copied(), hasEnded: source.hasEnded)
                source.unread = 0..<0
                source.hasEnded = false
                return source
            }
            guard AgeArmor.isBlank(first) else { return source }
            known += 1
        }
        return source
    }

    /// The number of bytes that can be read without the input.
    var count: Int { unread.count }

    /// The bytes that can be read without the input.
    var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        get { buffer.span.extracting(unread) }
    }

    /// The bytes in `range` of the buffer.
    @_lifetime(borrow self)
    func bytes(in range: Range<Int>) -> Span<UInt8> { buffer.span.extracting(range) }

    /// Reads until `count` bytes can be read or the input has ended.
    mutating func fill(atLeast count: Int, _ input: AgeReader.Input) throws(CofferError) {
        if unread.isEmpty { unread = 0..<0 }
        while unread.count < count, !hasEnded {
            if unread.lowerBound + count > buffer.count {
                let old = unread
                unread = 0..<old.count
                var span = buffer.mutableSpan
                span.move(old, to: 0)
            }
            try readOnce(input)
        }
    }

    private mutating func readOnce(_ input: AgeReader.Input) throws(CofferError) {
        let end = unread.upperBound
        // An error ends the reading of the file, so the decoder is not put back then.
        var decoder = armor.take()
        var span = buffer.mutableSpan
        var free = span._mutatingExtracting(end...)
        let size = free.count
        let count = if decoder == nil { try input(&free) } else { try decoder?.read(into: &free, input) }
        armor = decoder
        guard let count else {
            hasEnded = true
            return
        }
        guard (1...size).contains(count) else {
            throw CofferError(.internalFailure, "The input of the age file reported \(count) bytes.")
        }
        unread = unread.lowerBound..<unread.upperBound + count
    }

    /// Marks `count` bytes as read and returns where they are in the buffer.
    mutating func consume(_ count: Int) -> Range<Int> {
        let range = unread.lowerBound..<unread.lowerBound + count
        unread = range.upperBound..<unread.upperBound
        return range
    }

    /// Opens the next chunk in place. Returns where its plaintext is in the buffer until the next call, or
    /// `nil` if the bytes are no valid chunk; `isLast` reports whether it is the file's last one.
    mutating func open(
        _ cipher: inout AgeChunkCipher, _ input: AgeReader.Input
    ) throws(CofferError) -> (plaintext: Range<Int>, isLast: Bool)? {
        try fill(atLeast: AgeChunkCipher.sealedSize + 1, input)
        let isLast = count <= AgeChunkCipher.sealedSize
        let size = min(count, AgeChunkCipher.sealedSize)
        // Only an empty plaintext has an empty chunk.
        guard size >= AEAD.tagSize, size > AEAD.tagSize || cipher.isAtStart else { return nil }
        let range = consume(size)
        var span = buffer.mutableSpan
        var chunk = span._mutatingExtracting(range)
        do throws(CofferError) {
            try cipher.open(&chunk, isLast: isLast)
        } catch {
            guard error.code == .notAuthentic else { throw error }
            return nil
        }
        return (range.lowerBound..<range.upperBound - AEAD.tagSize, isLast)
    }

    /// Reads the file's header, up to the end of the line with its MAC.
    mutating func header(_ input: AgeReader.Input) throws(CofferError) -> AgeHeader {
        var header: [UInt8] = []
        var lineStart = 0
        while true {
            try fill(atLeast: 1, input)
            guard count > 0 else { break }
            let found = bytes.firstIndex(of: UInt8(ascii: "\n"))
            let piece = consume(found.map { $0 + 1 } ?? count)
            header += bytes(in: piece).copied()
            guard header.count <= AgeHeader.sizeLimit else {
                throw CofferError(.refused, "The header of the age file is longer than 1 MiB.")
            }
            guard
                lineStart > 0 || header.count < AgeHeader.versionPrefix.count
                    || header.starts(with: AgeHeader.versionPrefix)
            else { throw AgeHeader.noAgeFileError }
            guard found != nil else { continue }
            if lineStart == 0 { try AgeHeader.check(versionLine: header.dropLast()) }
            if header[lineStart...].starts(with: AgeHeader.end) { break }
            lineStart = header.count
        }
        guard lineStart > 0 else { throw AgeHeader.noAgeFileError }
        return try AgeHeader(parsing: header)
    }
}

extension Span<UInt8> {
    /// Returns the index of the first byte that is `byte`.
    fileprivate func firstIndex(of byte: UInt8) -> Int? {
        for index in indices where self[index] == byte { return index }
        return nil
    }
}
