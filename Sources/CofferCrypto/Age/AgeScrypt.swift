import CofferBase
import CofferEngine

/// The stanza for a passphrase, which is always the only one in its header.
enum AgeScrypt {
    static let type = "scrypt"
    private static let saltSize = 16
    /// The highest work factor that is read. It takes 4 GiB of memory.
    static let workFactorLimit = 22

    /// The values in a stanza.
    struct Cost: Equatable {
        let salt: [UInt8]
        let workFactor: Int
    }

    /// Returns the stanza from which the passphrase unwraps the file key.
    static func wrap(
        _ key: borrowing AgeFileKey, passphrase: borrowing SecretBytes, workFactor: Int
    ) throws(CofferError) -> AgeStanza {
        guard (1...workFactorLimit).contains(workFactor) else {
            throw CofferError(.invalidInput, "The work factor must be 1 to \(workFactorLimit).")
        }
        let cost = Cost(salt: try SecureRandom.bytes(saltSize), workFactor: workFactor)
        let wrappingKey = try Self.wrappingKey(passphrase, cost)
        return AgeStanza(
            [Array(type.utf8), try Encoding.base64TextUnpadded(cost.salt), Array(String(workFactor).utf8)],
            body: try key.wrapped(under: wrappingKey))
    }

    /// Returns the file key if `passphrase` is the right one, otherwise `nil`.
    static func unwrap(
        _ stanza: AgeStanza, _ cost: Cost, passphrase: borrowing SecretBytes
    ) throws(CofferError) -> AgeFileKey? {
        try AgeFileKey.unwrap(stanza.body, under: try wrappingKey(passphrase, cost))
    }

    /// Returns the salt and the work factor in the stanza.
    ///
    /// - Throws: `corrupt` if the stanza is not valid; `refused` if the work factor is too high.
    static func cost(of stanza: AgeStanza) throws(CofferError) -> Cost {
        guard stanza.arguments.count == 3, stanza.body.count == AgeFileKey.wrappedSize,
            let salt = try? Encoding.decodeBase64Text(stanza.arguments[1], isPadded: false),
            salt.count == saltSize, let workFactor = number(stanza.arguments[2])
        else { throw AgeHeader.corruptError }
        guard workFactor <= workFactorLimit else {
            throw CofferError(
                .refused,
                "The age file requires more than \(1 << (workFactorLimit - 20)) GiB of memory to check the "
                    + "passphrase: its work factor is \(workFactor), and at most \(workFactorLimit) is "
                    + "accepted.")
        }
        return Cost(salt: salt, workFactor: workFactor)
    }

    /// Returns a decimal number without a leading zero, or `nil`. Numbers of more than two digits are limited
    /// to 100.
    private static func number(_ digits: [UInt8]) -> Int? {
        guard let first = digits.first, first != UInt8(ascii: "0"),
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return digits.reduce(0) { min(100, $0 * 10 + Int($1 - UInt8(ascii: "0"))) }
    }

    private static func wrappingKey(
        _ passphrase: borrowing SecretBytes, _ cost: Cost
    ) throws(CofferError) -> SymmetricKey {
        let salt = Array(AgeLabel.scrypt.utf8) + cost.salt
        var output = try GuardedBytes.zeroed(count: 32)
        var span = output.mutableSpan
        try ScryptBinding.derive(
            secret: passphrase.guarded.span, salt: salt.span, workFactor: cost.workFactor, into: &span)
        return SymmetricKey(output)
    }
}
