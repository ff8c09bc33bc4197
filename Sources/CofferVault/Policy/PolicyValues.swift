import CofferBase
import CofferCrypto

/// The reading of single values of a policy.
extension PolicyKey {
    /// A value that was read, or the reason why it is invalid.
    enum Reading {
        case value(PolicyValue)
        /// A value that counts but should be written in another way.
        case warned(PolicyValue, String)
        case invalid(String)
    }

    /// Reads the key's value.
    func read(_ node: PolicyNode) -> Reading {
        switch form {
        case .flag: flag(node)
        case .number(let range, _): number(node, range)
        case .word(let words): word(node, words)
        case .words(let words): list(node) { words.contains($0) ? $0 : nil }.orExpecting(words)
        case .recipients: list(node) { (try? AgeRecipient($0)) == nil ? nil : $0 }
        case .addresses: addresses(node)
        case .text: text(node)
        case .hosts: hosts(node)
        case .labels: labels(node)
        case .attribute(let words): attribute(node, words)
        }
    }

    private func wrongType(_ expected: String, _ node: PolicyNode) -> Reading {
        .invalid("The value must be \(expected), not \(node.typeName).")
    }

    private func flag(_ node: PolicyNode) -> Reading {
        guard case .flag(let flag) = node.content else { return wrongType("a Boolean", node) }
        return .value(.flag(flag))
    }

    private func number(_ node: PolicyNode, _ range: ClosedRange<Int>) -> Reading {
        guard case .number(let number) = node.content else { return wrongType("an integer", node) }
        guard let number = Int(exactly: number), range.contains(number) else {
            return .invalid("The value must be \(range.lowerBound) to \(range.upperBound).")
        }
        return .value(.number(number))
    }

    private func word(_ node: PolicyNode, _ words: [String]) -> Reading {
        guard case .text(let text) = node.content else { return wrongType("a string", node) }
        guard words.contains(where: { $0.hasSameBytes(as: text) }) else {
            return .invalid("The value must be one of \(words.joined(separator: ", ")).")
        }
        return .value(.text(text))
    }

    private func text(_ node: PolicyNode) -> Reading {
        guard case .text(let text) = node.content else { return wrongType("a string", node) }
        guard Self.isPlain(text) else { return .invalid(Self.notPlain) }
        return .value(.text(text))
    }

    private static let notPlain = "A text must have 1 to 1024 bytes, without control characters."

    private static func isPlain(_ text: String) -> Bool {
        (1...1024).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// Returns the texts of a list, or of one text in which commas separate them.
    private static func texts(_ node: PolicyNode) -> [String]? {
        switch node.content {
        case .text(let text): return text.parts(between: ",", keepsEmpty: true).map(trimmed)
        case .list(let nodes):
            let texts = nodes.compactMap { if case .text(let text) = $0.content { text } else { nil } }
            return texts.count == nodes.count ? texts : nil
        default: return nil
        }
    }

    /// Returns the text without the spaces around it.
    private static func trimmed(_ text: String) -> String {
        var bytes = Array(text.utf8.drop { $0 == 0x20 })
        while bytes.last == 0x20 { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads a list of a restriction: at least one text, each of which `accept` accepts. The order has no
    /// meaning.
    private func list(_ node: PolicyNode, _ accept: (String) -> String?) -> Reading {
        guard let texts = Self.texts(node) else { return wrongType("an array of strings or a string", node) }
        guard !texts.isEmpty else { return .invalid("The list must not be empty.") }
        var accepted: Set<[UInt8]> = []
        for (index, text) in texts.enumerated() {
            guard let text = accept(text) else { return .invalid("Entry \(index + 1) is invalid.") }
            accepted.insert(Array(text.utf8))
        }
        return .value(.list(Self.ordered(accepted)))
    }

    /// Returns texts in the order of their bytes.
    static func ordered(_ texts: Set<[UInt8]>) -> [String] {
        texts.sorted { $0.lexicographicallyPrecedes($1) }.map { String(decoding: $0, as: UTF8.self) }
    }

    private func addresses(_ node: PolicyNode) -> Reading {
        let reading = list(node) { AddressRange($0)?.text }
        guard case .value(.list(let texts)) = reading else { return reading }
        return .value(.list(AddressRange.reduced(texts.compactMap { AddressRange($0) }).map(\.text)))
    }

    private func labels(_ node: PolicyNode) -> Reading {
        guard let texts = Self.texts(node) else { return wrongType("an array of strings or a string", node) }
        guard texts.count <= 256, texts.allSatisfy(Self.isPlain) else { return .invalid(Self.notPlain) }
        return .value(.list(texts))
    }

    private func hosts(_ node: PolicyNode) -> Reading {
        guard let texts = Self.texts(node) else { return wrongType("an array of strings or a string", node) }
        guard texts.count <= 256 else { return .invalid("There are more than 256 servers.") }
        var hosts: [String] = []
        for (index, text) in texts.enumerated() {
            guard !text.utf8.hasPrefix("http://") else {
                return .invalid("Server \(index + 1) must not use http://.")
            }
            let isWhole = text.utf8.hasPrefix("https://")
            var host = isWhole ? String(decoding: text.utf8.dropFirst(8), as: UTF8.self) : text
            guard HostName.isHostAndPort(host) else {
                return .invalid(
                    "Server \(index + 1) must be a host in lower case, optionally with https:// and a port.")
            }
            if host.utf8.hasSuffix(":443") { host = String(decoding: host.utf8.dropLast(4), as: UTF8.self) }
            guard !hosts.contains(where: { $0.hasSameBytes(as: "https://" + host) }) else {
                return .invalid("Server \(index + 1) is there twice.")
            }
            hosts.append("https://" + host)
        }
        return .value(.list(hosts))
    }

    private func attribute(_ node: PolicyNode, _ words: [String]) -> Reading {
        guard case .text(let text) = node.content else { return wrongType("a string", node) }
        guard Self.isPlain(text) else { return .invalid(Self.notPlain) }
        let quote = UInt8(ascii: "\"")
        let isQuoted = text.utf8.count >= 2 && text.utf8.first == quote && text.utf8.last == quote
        let inner = isQuoted ? String(decoding: text.utf8.dropFirst().dropLast(), as: UTF8.self) : text
        guard words.isEmpty ? !inner.isEmpty : words.contains(where: { $0.hasSameBytes(as: inner) }) else {
            return .invalid(
                words.isEmpty
                    ? "The value must not be empty."
                    : "The value must be one of \(words.joined(separator: ", ")), in quotation marks.")
        }
        let value = PolicyValue.text(inner)
        return isQuoted ? .value(value) : .warned(value, "The value should be in quotation marks.")
    }
}

extension PolicyKey.Reading {
    /// The reading with a message that names the accepted words.
    fileprivate func orExpecting(_ words: [String]) -> Self {
        guard case .invalid(let reason) = self else { return self }
        return .invalid("\(reason) The entries may be \(words.joined(separator: ", ")).")
    }
}
