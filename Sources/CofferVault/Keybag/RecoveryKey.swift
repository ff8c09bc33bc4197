public import CofferBase
public import CofferCrypto
import CofferEngine

/// A recovery key: 160 random bits that open a vault whose passcode or device key is lost.
///
/// As text, for a sheet of paper, the key has eight groups of five characters: four that hold 20 bits of the
/// key, and one that depends on these four and on the group's number, so that a mistyped or misplaced group
/// is found as soon as it is typed. The characters are those of Crockford's Base32: the digits, and the
/// letters without I, L, O and U. Reading ignores case, spaces and dashes, and takes O for 0, and I and L for
/// 1.
///
/// Because a guess has one chance in 2^160, wrong recovery keys are not counted, and the key is not
/// stretched.
public final class RecoveryKey: Sendable {
    /// The number of groups in the key's text.
    public static let groupCount = 8
    /// The number of characters in each group, of which the last one is the check.
    public static let groupLength = 5
    /// The number of random bytes.
    package static let size = 20

    let secret: SymmetricKey

    package init(_ secret: consuming SymmetricKey) throws(CofferError) {
        guard secret.count == Self.size else { throw CofferError.wrongKeySize(secret.count) }
        self.secret = secret
    }

    /// Creates a recovery key from its text, with all eight groups in their order.
    ///
    /// - Parameter text: The text; case, spaces, tabs and dashes do not matter.
    /// - Throws: `invalidInput` if a group is missing, mistyped or out of place; the message names the group.
    public convenience init(_ text: borrowing SecretBytes) throws(CofferError) {
        var reader = try RecoveryKeyReader()
        try reader.append(text)
        self.init(checked: try reader.key())
    }

    /// Creates a recovery key from bytes whose number was checked.
    init(checked secret: consuming SymmetricKey) { self.secret = secret }

    /// Generates a recovery key with 160 bits from the kernel. The key opens nothing until
    /// ``Vault/setRecoveryKey(_:passcode:keepingDeviceKey:)`` has made it a vault's recovery key.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public static func generate() throws(CofferError) -> RecoveryKey {
        RecoveryKey(checked: try SymmetricKey.random(count: size))
    }

    /// Returns the key as text: eight groups of five characters, separated by dashes.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public func text() throws(CofferError) -> SecretBytes {
        try secret.withSpan { (bytes) throws(CofferError) in
            SecretBytes(try RecoveryKeyText.encode(bytes))
        }
    }

    /// Returns whether both keys are the same, in constant time.
    public func isEqual(to other: RecoveryKey) -> Bool { secret.isEqual(to: other.secret) }
}
