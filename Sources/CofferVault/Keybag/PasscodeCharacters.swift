/// A passcode's composition, determined from its UTF-8 bytes in place, without copies.
///
/// A character is a Unicode extended grapheme cluster (UAX 29), which a reader perceives as one character.
/// Each invalid part of the UTF-8 counts as one character that is neither a letter nor a digit.
package struct PasscodeCharacters {
    package private(set) var count = 0
    /// The number of scalars in Unicode's general category L.
    package private(set) var letters = 0
    /// The number of scalars in Unicode's general category Nd.
    package private(set) var digits = 0
    /// Whether all characters are the digits 0 to 9, as on a numeric keypad.
    package private(set) var isOfKeypad = true
    /// Whether all characters are the same.
    package private(set) var isOneRepeated = true
    /// Whether each scalar's value is one more than that of the scalar before it. As on a keypad, 0 also
    /// follows 9.
    package private(set) var isAscending = true
    /// Whether the scalars, read in reverse order, are ascending as defined by ``isAscending``.
    package private(set) var isDescending = true

    private var first = 0..<0
    private var previous: UInt32?

    package init(_ bytes: Span<UInt8>) {
        var start = 0
        while start < bytes.count {
            let remaining = bytes.extracting(start...)
            do throws(Unicode.UTF8.ValidationError) {
                add(try UTF8Span(validating: remaining), of: bytes, at: start)
                start = bytes.count
            } catch {
                let bad = start + error.byteOffsets.lowerBound..<start + error.byteOffsets.upperBound
                // The bytes before the invalid part are valid.
                if let good = try? UTF8Span(validating: bytes.extracting(start..<bad.lowerBound)) {
                    add(good, of: bytes, at: start)
                }
                addCharacter(bad, of: bytes)
                isOfKeypad = false
                isAscending = false
                isDescending = false
                start = bad.upperBound
            }
        }
    }

    private mutating func add(_ text: UTF8Span, of bytes: Span<UInt8>, at start: Int) {
        var scalars = text.makeUnicodeScalarIterator()
        while let scalar = scalars.next() { add(scalar) }
        var characters = text.makeCharacterIterator()
        var offset = 0
        while characters.skipForward() > 0 {
            addCharacter(start + offset..<start + characters.currentCodeUnitOffset, of: bytes)
            offset = characters.currentCodeUnitOffset
        }
    }

    private mutating func addCharacter(_ range: Range<Int>, of bytes: Span<UInt8>) {
        if count == 0 { first = range }
        count += 1
        guard range.count == first.count else { return isOneRepeated = false }
        for index in range where bytes[index] != bytes[first.lowerBound + index - range.lowerBound] {
            isOneRepeated = false
        }
    }

    private mutating func add(_ scalar: Unicode.Scalar) {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter:
            letters += 1
        case .decimalNumber: digits += 1
        default: break
        }
        if !("0"..."9").contains(scalar) { isOfKeypad = false }
        if let previous {
            if !Self.isNext(scalar.value, after: previous) { isAscending = false }
            if !Self.isNext(previous, after: scalar.value) { isDescending = false }
        }
        previous = scalar.value
    }

    private static func isNext(_ scalar: UInt32, after previous: UInt32) -> Bool {
        let nine: Unicode.Scalar = "9"
        let zero: Unicode.Scalar = "0"
        return scalar == previous + 1 || (previous == nine.value && scalar == zero.value)
    }
}
