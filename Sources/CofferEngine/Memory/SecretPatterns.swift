/// A set of patterns for finding traces of secrets in every form in which they might remain: raw bytes,
/// lowercase and uppercase hexadecimal, Base64 in its three alignments, and UTF-16. Any 8 consecutive bytes
/// of a secret are enough for a match; in Base64, any 12 consecutive characters are enough.
///
/// A pattern is stored as keyed hashes of its windows and never as bytes, so that a search of this process's
/// own memory does not find the patterns.
package struct SecretPatterns {
    /// A form in which the bytes of a secret may remain.
    private enum Form: String, CaseIterable {
        case raw, hex, upperHex, base64, base64Second, base64Third, utf16

        /// The size of a window in this form, in bytes. A window covers at least 8 bytes of the secret.
        fileprivate var window: Int {
            switch self {
            case .raw: 8
            case .hex, .upperHex, .utf16: 16
            case .base64, .base64Second, .base64Third: 12
            }
        }

        fileprivate var title: String {
            switch self {
            case .raw: ""
            case .hex, .upperHex: " in hexadecimal"
            case .base64, .base64Second, .base64Third: " in Base64"
            case .utf16: " in UTF-16"
            }
        }
    }

    /// A stored window: its pattern, form and size, and the hash of its last 8 bytes.
    private struct Window {
        let needle: Int
        let form: Form
        let size: Int
        let end: UInt64
    }

    /// The size of the longest window in bytes. Consecutive pieces to search must overlap by this many bytes.
    package private(set) var maxPatternLength = 16
    private static let half = 8
    private static let filterBits = 20

    package private(set) var names: [String] = []
    private var windows: [UInt64: [Window]] = [:]
    /// A filter with one bit for each value of a hash's first 20 bits. It rules out most positions.
    private var filter = [UInt8](repeating: 0, count: 1 << (filterBits - 3))
    /// The key for the hashes. It differs between runs, so the hashes alone reveal nothing.
    private let secret: UInt64

    /// Creates an empty set of patterns.
    package init() {
        var generator = SystemRandomNumberGenerator()
        secret = generator.next()
    }

    private func hash(_ word: UInt64) -> UInt64 {
        var value = (word ^ secret) &* 0x9E37_79B9_7F4A_7C15
        value ^= value >> 29
        return value &* 0xBF58_476D_1CE4_E5B9
    }

    /// Adds a pattern. Ignores patterns shorter than 8 bytes and windows with few distinct bytes, because
    /// they would match by chance.
    ///
    /// - Parameters:
    ///   - name: The name by which ``found(in:)`` reports the pattern.
    ///   - bytes: The bytes to find.
    ///   - isWhole: Whether only the whole pattern matches. Pass `true` for bytes that are not random,
    ///     because parts of them would match by chance.
    package mutating func add(_ name: String, _ bytes: Span<UInt8>, isWhole: Bool = false) {
        guard bytes.count >= Self.half else { return }
        let needle = names.count
        names.append(name)
        for form in Form.allCases {
            let length = Self.length(of: form, bytes.count)
            guard length >= form.window else { continue }
            let size = isWhole ? length : form.window
            maxPatternLength = max(maxPatternLength, size)
            for start in 0...(length - size) {
                var first: UInt64 = 0
                var end: UInt64 = 0
                var seen: Set<UInt8> = []
                for offset in 0..<size {
                    let byte = Self.byte(start + offset, of: form, bytes)
                    seen.insert(byte)
                    if offset < Self.half { first = first << 8 | UInt64(byte) }
                    if offset >= size - Self.half { end = end << 8 | UInt64(byte) }
                }
                guard seen.count >= (form == .utf16 ? 4 : 5) else { continue }
                let key = hash(first)
                let slot = Int(truncatingIfNeeded: key >> (64 - UInt64(Self.filterBits)))
                filter[slot >> 3] |= 1 << UInt8(slot & 7)
                windows[key, default: []].append(
                    Window(needle: needle, form: form, size: size, end: hash(end)))
            }
        }
    }

    /// Returns the names and forms of the patterns that occur in `bytes`.
    package func found(in bytes: Span<UInt8>) -> Set<String> {
        var found: Set<String> = []
        var word: UInt64 = 0
        var index = 0
        let count = bytes.count
        while index < count {
            word = word << 8 | UInt64(bytes[index])
            index += 1
            guard index >= Self.half else { continue }
            let key = hash(word)
            let slot = Int(truncatingIfNeeded: key >> (64 - UInt64(Self.filterBits)))
            guard filter[slot >> 3] & 1 << UInt8(slot & 7) != 0, let known = windows[key] else { continue }
            for window in known {
                let end = index - Self.half + window.size
                guard end <= count else { continue }
                var last: UInt64 = 0
                for place in (end - Self.half)..<end { last = last << 8 | UInt64(bytes[place]) }
                if hash(last) == window.end { found.insert(names[window.needle] + window.form.title) }
            }
        }
        return found
    }

    // MARK: Forms, computed byte by byte and never stored

    private static func length(of form: Form, _ count: Int) -> Int {
        switch form {
        case .raw: count
        case .hex, .upperHex, .utf16: count * 2
        // Count only whole groups of four characters that encode nothing but bytes of the pattern.
        case .base64: count / 3 * 4
        case .base64Second: max(0, count - 2) / 3 * 4
        case .base64Third: max(0, count - 1) / 3 * 4
        }
    }

    private static func byte(_ index: Int, of form: Form, _ bytes: Span<UInt8>) -> UInt8 {
        switch form {
        case .raw: bytes[index]
        case .hex: digit(bytes[index / 2], index, UInt8(ascii: "a"))
        case .upperHex: digit(bytes[index / 2], index, UInt8(ascii: "A"))
        case .utf16: index % 2 == 0 ? bytes[index / 2] : 0
        case .base64: character(index, bytes, from: 0)
        case .base64Second: character(index, bytes, from: 2)
        case .base64Third: character(index, bytes, from: 1)
        }
    }

    private static func digit(_ byte: UInt8, _ index: Int, _ ten: UInt8) -> UInt8 {
        let value = index % 2 == 0 ? byte >> 4 : byte & 15
        return value < 10 ? UInt8(ascii: "0") + value : ten + value - 10
    }

    private static func character(_ index: Int, _ bytes: Span<UInt8>, from start: Int) -> UInt8 {
        let group = start + index / 4 * 3
        let bits = UInt32(bytes[group]) << 16 | UInt32(bytes[group + 1]) << 8 | UInt32(bytes[group + 2])
        let value = UInt8(bits >> (18 - UInt32(index % 4) * 6) & 63)
        return switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + value - 26
        case 52..<62: UInt8(ascii: "0") + value - 52
        case 62: UInt8(ascii: "+")
        default: UInt8(ascii: "/")
        }
    }
}
