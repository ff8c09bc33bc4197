import CofferCrypto

/// The properties of a vault that a release must know before it opens the vault, because it would otherwise
/// lose data: 24 bits in a keybag.
///
/// A keybag with any of them is refused with `unsupportedVersion` by every release that does not know this
/// list, and by every later one that does not know one of its bits.
package struct KeybagFeatures: OptionSet, Sendable, Hashable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The vault has had a key pair. A release that knows none would rotate the class keys without the
    /// private keys, which could then never be opened again.
    package static let keyPairs = KeybagFeatures(rawValue: 1)

    /// The vault has had a signed policy. A release that knows none would ignore its rules, and would replace
    /// the record that contains it.
    package static let signedPolicy = KeybagFeatures(rawValue: 2)

    /// The bits that this release knows.
    static let known: KeybagFeatures = [.keyPairs, .signedPolicy]

    /// The three bytes of a keybag that contain the bits, the most significant first.
    var bytes: [UInt8] { Array(rawValue.bigEndianBytes.dropFirst()) }

    /// Reads the three bytes of a keybag.
    init(bytes: some Collection<UInt8>) { rawValue = bytes.reduce(0) { $0 << 8 | UInt32($1) } }
}
