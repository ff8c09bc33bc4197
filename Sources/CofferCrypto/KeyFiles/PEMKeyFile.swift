import CofferBase
import CofferEngine

/// A private key in PEM, with or without certificates in the same file.
enum PEMKeyFile {
    private static let dashes = Array("-----".utf8)
    private static let begin = Array("-----BEGIN ".utf8)
    private static let end = Array("-----END ".utf8)

    /// Returns whether the file has the beginning of a block anywhere.
    static func isPEM(_ bytes: Span<UInt8>) -> Bool {
        bytes.indices.contains { starts(bytes, $0, bytes.count, with: begin) }
    }

    /// Reads the file. Text around the blocks is ignored, and so are blanks in and around their lines.
    static func read(
        _ bytes: Span<UInt8>, _ passphrase: () throws(CofferError) -> SecretBytes
    ) throws(CofferError) -> KeyFileContents {
        var contents = KeyFileContents()
        var place = PEMText.markSize(bytes)
        while let block = try next(bytes, &place) {
            let label = bytes.extracting(block.label).copied()
            // Older forms have lines that are not Base64, so their label comes first.
            guard !isOfOtherKey(label) else { throw otherForm(label) }
            let content = try decoded(bytes.extracting(block.content))
            if label == Array("CERTIFICATE".utf8) {
                try contents.add(certificate: content.span.copied())
            } else if keyLabels.contains(where: { $0 == label }) {
                try contents.requireRoom()
                try contents.add(key: try PKCS8File.key(content.span, passphrase))
            } else {
                contents.others.append(String(decoding: label, as: UTF8.self))
            }
        }
        return contents
    }

    private static let keyMark = Array("PRIVATE KEY".utf8)
    private static let keyLabels = [Array("PRIVATE KEY".utf8), Array("ENCRYPTED PRIVATE KEY".utf8)]

    private static func isOfOtherKey(_ label: [UInt8]) -> Bool {
        label.reversed().starts(with: keyMark.reversed()) && !keyLabels.contains { $0 == label }
    }

    private static func otherForm(_ label: [UInt8]) -> CofferError {
        guard label != Array("OPENSSH PRIVATE KEY".utf8) else {
            return CofferError(
                .unsupported,
                "The private key is in the form of OpenSSH. Import it with the command for SSH keys instead.")
        }
        return PKCS8File.otherForm
    }

    private typealias Block = (label: Range<Int>, content: Range<Int>)

    /// Returns the next block and moves `place` behind it; `nil` if there is none.
    private static func next(_ bytes: Span<UInt8>, _ place: inout Int) throws(CofferError) -> Block? {
        guard let start = line(bytes, from: place, with: begin) else { return nil }
        guard let stop = line(bytes, from: start.upperBound, with: end) else { throw damaged }
        let label = try label(bytes, start, begin)
        let last = try Self.label(bytes, stop, end)
        let isSame =
            label.count == last.count && zip(label, last).allSatisfy { bytes[$0] == bytes[$1] }
        let again = line(bytes, from: start.upperBound, with: begin)
        guard isSame, again.map({ $0.lowerBound > stop.lowerBound }) ?? true else { throw damaged }
        place = stop.upperBound
        return (label, start.upperBound..<stop.lowerBound)
    }

    /// Returns the next line that starts with these bytes.
    private static func line(_ bytes: Span<UInt8>, from place: Int, with text: [UInt8]) -> Range<Int>? {
        var start = place
        while start < bytes.count {
            var end = start
            while end < bytes.count, bytes[end] != UInt8(ascii: "\n") { end += 1 }
            while start < end, PEMText.isBlank(bytes[start]) { start += 1 }
            if starts(bytes, start, end, with: text) { return start..<end }
            start = end + 1
        }
        return nil
    }

    private static func starts(_ bytes: Span<UInt8>, _ start: Int, _ end: Int, with text: [UInt8]) -> Bool {
        end - start >= text.count && text.indices.allSatisfy { bytes[start + $0] == text[$0] }
    }

    /// Returns the place of the label in a line that begins or ends a block.
    private static func label(
        _ bytes: Span<UInt8>, _ line: Range<Int>, _ head: [UInt8]
    ) throws(CofferError) -> Range<Int> {
        var end = line.upperBound
        while end > line.lowerBound, PEMText.isBlank(bytes[end - 1]) { end -= 1 }
        let (first, last) = (line.lowerBound + head.count, end - dashes.count)
        guard 1...64 ~= last - first, starts(bytes, last, end, with: dashes),
            (first..<last).allSatisfy({ 0x20...0x7E ~= bytes[$0] })
        else { throw damaged }
        return first..<last
    }

    private static func decoded(_ text: Span<UInt8>) throws(CofferError) -> GuardedBytes {
        var plain = try GuardedBytes.zeroed(count: text.count)
        var count = 0
        for index in text.indices where !PEMText.isBlank(text[index]) {
            var span = plain.mutableSpan
            span[count] = text[index]
            count += 1
        }
        plain.shrink(to: count)
        do throws(CofferError) {
            return try Encoding.decodeBase64Lines(plain.span)
        } catch {
            guard error.code == .invalidInput else { throw error }
            throw damaged
        }
    }

    private static var damaged: CofferError {
        CofferError(.invalidInput, "The file in PEM is damaged or cut off: a block is not complete.")
    }
}
