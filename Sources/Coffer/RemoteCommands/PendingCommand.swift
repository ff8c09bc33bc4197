import CofferBase
import CofferCrypto
import CofferVault
import FoundationEssentials

/// A command to erase that was accepted but has not been carried out yet, with the vault for which it was
/// accepted. It erases that vault, and nothing that was created later.
struct PendingCommand: Equatable {
    /// The SHA-256 digest of all the command's bytes, in hexadecimal.
    let digest: String
    let scope: WipeScope
    /// The reason to state in the receipt; at most 255 bytes, which is the maximum in a tombstone.
    let reason: String
    /// The expiry time, in seconds since 1970.
    let expires: UInt64
    /// The vault for which the command was accepted; `nil` if its id was not known or if an earlier release
    /// accepted the command.
    let vaultID: VaultID?

    private static let digestSize = 32

    init(_ order: SignedCommand, _ scope: WipeScope, for vaultID: VaultID?) {
        digest = order.digest
        self.scope = scope
        reason = WipeReason(reason: order.content.reason, orderDigest: nil).reason
        expires = CommandEncoding.seconds(order.content.expires) ?? 0
        self.vaultID = vaultID == .unknown ? nil : vaultID
    }

    /// Returns whether this command has the given digest.
    func isOf(_ digest: String) -> Bool { self.digest.hasSameBytes(as: digest) }

    // MARK: In the record

    private var word: UInt8 {
        switch scope {
        case .all: 1
        case .user: 2
        case .tokens: 3
        }
    }

    func encode(to writer: inout BinaryWriter) {
        writer.append([word])
        writer.append(HexText.decode(digest) ?? [])
        writer.append((vaultID ?? .unknown).bytes)
        writer.append(expires)
        if case .user(let name) = scope { writer.appendText(name) }
        writer.appendText(reason)
    }

    init(from reader: inout BinaryReader) throws(CofferError) {
        let word = try reader.take(1)[0]
        digest = HexText.encode(try reader.take(Self.digestSize))
        guard let id = VaultID(bytes: try reader.take(16)) else { throw reader.corruptError }
        vaultID = id == .unknown ? nil : id
        expires = try reader.number()
        switch word {
        case 1: scope = .all
        case 2:
            let name = try reader.text()
            guard CommandEncoding.isName(name) else { throw reader.corruptError }
            scope = .user(name)
        case 3: scope = .tokens
        default: throw reader.corruptError
        }
        reason = try reader.text()
    }
}
