/// The forms of hosts and ports. Only one form of each is accepted, because programs disagree about the
/// others.
package enum HostName {
    /// Whether the text is a DNS name in lower case: labels of letters, digits and hyphens. A name whose last
    /// label looks like a number is none, because some programs read it as an IPv4 address.
    package static func isName(_ text: String) -> Bool {
        guard (1...253).contains(text.utf8.count) else { return false }
        let labels = text.parts(between: ".", keepsEmpty: true)
        guard labels.allSatisfy(isLabel), let last = labels.last else { return false }
        let isHexadecimal = last.utf8.starts(with: "0x".utf8)
        return !isHexadecimal && !last.utf8.allSatisfy(isDigit)
    }

    private static func isLabel(_ label: String) -> Bool {
        guard (1...63).contains(label.utf8.count), label.utf8.first != UInt8(ascii: "-"),
            label.utf8.last != UInt8(ascii: "-")
        else { return false }
        return label.utf8.allSatisfy { isDigit($0) || isLetter($0) || $0 == UInt8(ascii: "-") }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }

    /// Whether the text is an IPv4 address of four decimal numbers without leading zeros.
    package static func isIPv4Address(_ text: String) -> Bool {
        let numbers = text.parts(between: ".", keepsEmpty: true)
        return numbers.count == 4 && numbers.allSatisfy { decimal($0, atMost: 255) != nil }
    }

    /// Whether the text is an IPv6 address in lower case, without a zone.
    package static func isIPv6Address(_ text: String) -> Bool {
        guard (2...45).contains(text.utf8.count) else { return false }
        let groups = text.parts(between: ":", keepsEmpty: true)
        // "::" gives one empty part inside the text, two at an end, and three if there is nothing else.
        let empty = groups.indices.filter { groups[$0].isEmpty }
        var count = groups.count - empty.count
        if let last = groups.last, last.utf8.contains(UInt8(ascii: ".")) {
            guard isIPv4Address(last) else { return false }
            count += 1
        }
        let words = groups.enumerated().filter { index, group in
            !(group.isEmpty || (index == groups.count - 1 && group.utf8.contains(UInt8(ascii: "."))))
        }
        guard words.allSatisfy({ isGroup($0.element) }) else { return false }
        return switch empty {
        case []: count == 8
        case [0, 1, 2]: groups.count == 3
        case [0, 1]: count <= 7
        case [groups.count - 2, groups.count - 1]: count <= 7
        case let one where one.count == 1 && one[0] != 0 && one[0] != groups.count - 1: count <= 7
        default: false
        }
    }

    private static func isGroup(_ text: String) -> Bool {
        (1...4).contains(text.utf8.count)
            && text.utf8.allSatisfy { isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
    }

    /// Returns the port that the text contains; `nil` unless it is a number from 1 to 65535 without leading
    /// zeros.
    package static func port(_ text: String) -> UInt16? {
        decimal(text, atMost: 65535).flatMap { $0 == 0 ? nil : UInt16($0) }
    }

    /// Whether the text is what stands before the path of a URL without a user: a DNS name in lower case, an
    /// IPv4 address or an IPv6 address in brackets, with or without a port.
    package static func isHostAndPort(_ text: String) -> Bool {
        if text.utf8.first == UInt8(ascii: "[") {
            guard let close = text.utf8.firstIndex(of: UInt8(ascii: "]")) else { return false }
            let address = text.utf8[..<close].dropFirst()
            let rest = text.utf8[text.utf8.index(after: close)...]
            return isIPv6Address(String(decoding: address, as: UTF8.self)) && isPortOrNothing(rest)
        }
        let end = text.utf8.firstIndex(of: UInt8(ascii: ":")) ?? text.utf8.endIndex
        let host = String(decoding: text.utf8[..<end], as: UTF8.self)
        return (isName(host) || isIPv4Address(host)) && isPortOrNothing(text.utf8[end...])
    }

    private static func isPortOrNothing(_ text: Substring.UTF8View) -> Bool {
        guard let colon = text.first else { return true }
        return colon == UInt8(ascii: ":")
            && port(String(decoding: text.dropFirst(), as: UTF8.self)) != nil
    }

    private static func decimal(_ text: String, atMost limit: Int) -> Int? {
        guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy(isDigit),
            text.utf8.count == 1 || text.utf8.first != UInt8(ascii: "0"), let number = Int(text),
            number <= limit
        else { return nil }
        return number
    }
}
