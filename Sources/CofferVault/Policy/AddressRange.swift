import CofferBase

/// A range of IP addresses in CIDR notation, such as `192.0.2.0/24` or `2001:db8::/32`.
package struct AddressRange: Sendable, Hashable {
    /// The first address: 4 or 16 bytes.
    package let bytes: [UInt8]
    /// The number of leading bits that all addresses in the range share.
    package let prefix: Int

    /// Reads a range; `nil` if the text is not one, or if the address has bits behind the prefix. An address
    /// without a prefix is the range of this address alone. Only lowercase addresses without leading zeros
    /// and without a zone are accepted.
    package init?(_ text: String) {
        let parts = text.parts(between: "/", keepsEmpty: true)
        guard (1...2).contains(parts.count), let address = Self.address(parts[0]) else { return nil }
        var prefix = address.count * 8
        if parts.count == 2 {
            guard let number = Int(parts[1]), number.description.hasSameBytes(as: parts[1]),
                (0...prefix).contains(number)
            else { return nil }
            prefix = number
        }
        guard Self.masked(address, prefix) == address else { return nil }
        bytes = address
        self.prefix = prefix
    }

    /// Returns whether the range contains an address of 4 or 16 bytes.
    package func contains(_ address: [UInt8]) -> Bool {
        address.count == bytes.count && Self.masked(address, prefix) == bytes
    }

    /// Returns whether the range contains another one.
    package func contains(_ other: AddressRange) -> Bool { other.prefix >= prefix && contains(other.bytes) }

    /// The range in one form: an IPv6 address has eight groups.
    package var text: String {
        if bytes.count == 4 { return bytes.map(\.description).joined(separator: ".") + "/\(prefix)" }
        let groups = stride(from: 0, to: 16, by: 2).map { index in
            String(UInt16(bytes[index]) << 8 | UInt16(bytes[index + 1]), radix: 16)
        }
        return groups.joined(separator: ":") + "/\(prefix)"
    }

    /// Returns the ranges in order, without those that another one contains.
    package static func reduced(_ ranges: [AddressRange]) -> [AddressRange] {
        // Two ranges have no common address, or one contains the other and comes first, directly before all
        // that it contains. A comparison of all pairs would take minutes for the longest documents.
        ranges.sorted { $0.isBefore($1) }.reduce(into: []) { kept, range in
            if kept.last?.contains(range) != true { kept.append(range) }
        }
    }

    /// Returns the ranges of the addresses that are in both lists, in order.
    package static func intersection(_ one: [AddressRange], _ other: [AddressRange]) -> [AddressRange] {
        var (ones, others) = (reduced(one)[...], reduced(other)[...])
        var common: [AddressRange] = []
        while let a = ones.first, let b = others.first {
            if a.contains(b) {
                common.append(b)
                others.removeFirst()
            } else if b.contains(a) {
                common.append(a)
                ones.removeFirst()
            } else if a.isBefore(b) {
                ones.removeFirst()
            } else {
                others.removeFirst()
            }
        }
        return common
    }

    /// Whether the range comes before another one in order.
    private func isBefore(_ other: AddressRange) -> Bool {
        guard bytes.count == other.bytes.count else { return bytes.count < other.bytes.count }
        guard bytes == other.bytes else { return bytes.lexicographicallyPrecedes(other.bytes) }
        return prefix < other.prefix
    }

    /// Returns the bytes of an address; `nil` if the text is not one.
    package static func address(_ text: String) -> [UInt8]? {
        if HostName.isIPv4Address(text) { return text.parts(between: ".").compactMap { UInt8($0) } }
        guard HostName.isIPv6Address(text) else { return nil }
        let groups = text.parts(between: ":", keepsEmpty: true)
        guard let gap = groups.firstIndex(where: \.isEmpty) else { return groups.flatMap(bytes) }
        let (before, after) = (groups[..<gap].flatMap(bytes), groups[gap...].flatMap(bytes))
        return before + [UInt8](repeating: 0, count: 16 - before.count - after.count) + after
    }

    /// Returns the bytes of a group of an IPv6 address, or of the IPv4 address at its end.
    private static func bytes(_ group: String) -> [UInt8] {
        if group.isEmpty { return [] }
        guard let number = UInt16(group, radix: 16) else {
            return group.parts(between: ".").compactMap { UInt8($0) }
        }
        return [UInt8(number >> 8), UInt8(number & 0xFF)]
    }

    private static func masked(_ address: [UInt8], _ prefix: Int) -> [UInt8] {
        address.enumerated().map { index, byte in
            let kept = min(8, max(0, prefix - index * 8))
            return kept == 0 ? 0 : byte & (0xFF << (8 - UInt8(kept)))
        }
    }
}
