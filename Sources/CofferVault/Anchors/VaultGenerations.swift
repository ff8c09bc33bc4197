package import CofferBase

/// The generations of the files that a vault's number stands for.
///
/// Encoded (96 bytes): the generations of the keybag, the attempts, the orders, the file keys and the tokens
/// (8 each; 0 for a file that is not there), and marks of the token file (24) and of the file index (32),
/// which change with every change of the file.
package struct VaultGenerations: Equatable, RecordPayload {
    package static let tokensMarkSize = 24
    package static let indexMarkSize = 32

    package var keybag: UInt64 = 0
    package var attempts: UInt64 = 0
    package var orders: UInt64 = 0
    package var fileKeys: UInt64 = 0
    package var tokens: UInt64 = 0
    /// The counter of the last signed policy; 0 without one. It follows the other fields of an
    /// ``AnchorRecord``.
    package var policy: UInt64 = 0
    package var tokensMark = [UInt8](repeating: 0, count: tokensMarkSize)
    package var indexMark = [UInt8](repeating: 0, count: indexMarkSize)

    package init() {}

    /// Returns the name of a file that has a lower generation than in `recorded`; `nil` if there is none. The
    /// index of files has no generation, and tokens in the Secret Service have none either.
    package func older(than recorded: VaultGenerations) -> String? {
        if keybag < recorded.keybag { return "keybag" }
        if attempts < recorded.attempts { return "attempts" }
        if orders < recorded.orders { return "orders" }
        if fileKeys < recorded.fileKeys { return "filekeys" }
        if policy < recorded.policy { return "policy" }
        return tokens < recorded.tokens ? "tokens" : nil
    }

    /// Whether at most the tokens differ.
    package func differsOnlyInTokens(from other: VaultGenerations) -> Bool {
        var same = self
        (same.tokens, same.tokensMark) = (other.tokens, other.tokensMark)
        return same == other
    }

    package func encode(to writer: inout BinaryWriter) {
        for number in [keybag, attempts, orders, fileKeys, tokens] { writer.append(number) }
        writer.append(tokensMark)
        writer.append(indexMark)
    }

    package init(from reader: inout BinaryReader) throws(CofferError) {
        keybag = try reader.number()
        attempts = try reader.number()
        orders = try reader.number()
        fileKeys = try reader.number()
        tokens = try reader.number()
        tokensMark = try reader.take(Self.tokensMarkSize)
        indexMark = try reader.take(Self.indexMarkSize)
    }
}
