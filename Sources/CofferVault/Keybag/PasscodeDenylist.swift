package import CofferBase
import CofferCrypto
import CofferEngine

/// The passcodes that a policy refuses, stored as 8-byte tags. A tag is the first 8 bytes of an HMAC-SHA256
/// of the passcode with its ASCII letters in lower case. The tags only save space: they do not hide the
/// passcodes, because the HMAC's key is public.
package enum PasscodeDenylist {
    package typealias Tag = UInt64

    /// The maximum number of passcodes on a policy's denylist.
    package static let maxCount = 256

    /// Passcodes that attackers guess first and that the other rules in ``isCommon(_:)`` do not cover.
    private static let listed = [
        "1212", "1004", "2580", "5683", "0852", "1313", "2001", "1010", "6969", "1122", "2000", "4242",
        "112233",
        "121212", "123123", "159753", "147258", "789456", "131313", "123654", "password", "passw0rd",
        "password1",
        "password123", "passwort", "letmein", "letmein1", "welcome", "welcome1", "qwerty", "qwerty1",
        "qwerty123",
        "qwertz", "qwertz123", "1q2w3e", "1q2w3e4r", "1qaz2wsx", "q1w2e3r4", "abc123", "abcd1234", "a1b2c3",
        "iloveyou", "iloveyou1", "admin", "admin1", "admin123", "secret", "secret1", "secret123", "changeme",
        "changeme1", "monkey", "dragon", "sunshine", "princess", "football", "baseball", "master", "shadow",
        "trustno1", "coffer", "test1", "test123", "test1234", "user1", "user123", "root1", "root123",
    ]

    package static func tags(of passcodes: [String]) throws(CofferError) -> Set<Tag> {
        var tags: Set<Tag> = []
        for passcode in passcodes where !passcode.isEmpty {
            let bytes = Array(passcode.utf8)
            tags.insert(try tag(of: bytes.span))
        }
        try check(tags)
        return tags
    }

    package static func check(_ tags: Set<Tag>) throws(CofferError) {
        guard tags.count <= maxCount else {
            throw CofferError(.invalidInput, "A passcode policy can deny at most \(maxCount) passcodes.")
        }
    }

    package static func tag(of bytes: Span<UInt8>) throws(CofferError) -> Tag {
        var folded = try GuardedBytes.copying(bytes)
        var span = folded.mutableSpan
        for index in span.indices where (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(span[index]) {
            span[index] |= 0x20
        }
        let key = try SymmetricKey.copying(Array(KDFLabel.deniedPasscode.utf8).span)
        let tag = try HMAC.authenticate(folded.span, key: key)
        return tag.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Returns whether the passcode is a single repeated character, an ascending or descending run of Unicode
    /// scalars, or in the built-in list.
    package static func isCommon(_ bytes: Span<UInt8>) throws(CofferError) -> Bool {
        let found = PasscodeCharacters(bytes)
        if found.isOneRepeated || found.isAscending || found.isDescending { return true }
        return try tags(of: listed).contains(tag(of: bytes))
    }
}
