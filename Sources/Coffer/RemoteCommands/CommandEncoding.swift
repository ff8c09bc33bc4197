import CofferBase
import CofferCrypto
import CofferVault
import FoundationEssentials

/// The encoding of a command without its signature. Numbers are big-endian, and every command has exactly one
/// encoding.
///
/// Layout, with sizes in bytes: magic (8), version (2), action (1), scope (1), target kind (1), 3 zero bytes,
/// target (16), counter (8), issued (8), expires (8), signer (32), length (2) and subject, and length (2) and
/// reason. The signature (64) follows.
enum CommandEncoding {
    static let version: UInt16 = 1
    static let maxNameLength = 256
    static let maxReasonLength = 1024
    /// The size of the fields before the subject, in bytes.
    static let headerSize = 88
    static let maxByteCount = headerSize + 2 + maxNameLength + 2 + maxReasonLength + Ed25519.signatureSize
    /// The last second of the year 9999.
    private static let lastSecond: UInt64 = 253_402_300_799

    private enum Tag {
        static let wipe: UInt8 = 1
        static let heartbeat: UInt8 = 2
        static let pin: UInt8 = 3
        static let unpin: UInt8 = 4
        static let all: UInt8 = 1
        static let user: UInt8 = 2
        static let tokens: UInt8 = 3
        static let vault: UInt8 = 1
        static let device: UInt8 = 2
    }

    static func encode(_ order: RemoteCommand, signer: AdministratorKey) -> [UInt8] {
        let (action, scope, subject) = parts(of: order.action)
        var writer = BinaryWriter()
        writer.append(Array(FileMagic.order.utf8))
        writer.append(version)
        writer.append([action, scope])
        switch order.target {
        case .vault(let id):
            writer.append([Tag.vault, 0, 0, 0])
            writer.append(id.bytes)
        case .device(let id):
            writer.append([Tag.device, 0, 0, 0])
            writer.append(id.bytes)
        }
        writer.append(order.counter)
        writer.append(seconds(order.issued) ?? 0)
        writer.append(seconds(order.expires) ?? 0)
        writer.append(signer.bytes)
        for field in [subject, Array(order.reason.utf8)] {
            writer.append(UInt16(clamping: field.count))
            writer.append(field)
        }
        return writer.bytes
    }

    private static func parts(of action: RemoteCommand.Action) -> (UInt8, UInt8, [UInt8]) {
        switch action {
        case .wipe(.all): (Tag.wipe, Tag.all, [])
        case .wipe(.user(let name)): (Tag.wipe, Tag.user, Array(name.utf8))
        case .wipe(.tokens): (Tag.wipe, Tag.tokens, [])
        case .heartbeat: (Tag.heartbeat, 0, [])
        case .pin(let key): (Tag.pin, 0, key.bytes)
        case .unpin(let key): (Tag.unpin, 0, key.bytes)
        }
    }

    /// Decodes the output of ``encode(_:signer:)``, and nothing else. The caller must already have checked
    /// the magic and the version.
    static func decode(_ bytes: [UInt8]) throws(CofferError) -> (
        order: RemoteCommand, signer: AdministratorKey
    ) {
        var reader = BinaryReader(bytes, from: 10, name: "signed command")
        let words = try reader.take(6)
        guard words[3...].allSatisfy({ $0 == 0 }) else { throw reader.corruptError }
        let target = try target(words[2], try reader.take(16), reader)
        let counter = try reader.number(UInt64.self)
        let (issued, expires) = (try reader.number(UInt64.self), try reader.number(UInt64.self))
        guard issued < expires, expires <= lastSecond else { throw reader.corruptError }
        let signer = try AdministratorKey(try reader.take(Ed25519.keySize))
        let subject = try reader.take(Int(try reader.number(UInt16.self)))
        let text = try reader.take(Int(try reader.number(UInt16.self)))
        guard let reason = String(validating: text, as: UTF8.self), isReason(reason), reader.remaining == 0
        else { throw reader.corruptError }
        let action = try action(words[0], scope: words[1], subject, reader)
        let order = RemoteCommand(
            action, for: target, counter: counter, issued: date(issued), expires: date(expires),
            reason: reason)
        return (order, signer)
    }

    private static func target(
        _ word: UInt8, _ id: [UInt8], _ reader: BinaryReader
    ) throws(CofferError) -> RemoteCommand.Target {
        switch word {
        case Tag.vault:
            guard let uuid = UUID(bytes: id) else { throw reader.corruptError }
            return .vault(uuid)
        case Tag.device: return .device(try DeviceID(id))
        default: throw reader.corruptError
        }
    }

    private static func action(
        _ word: UInt8, scope: UInt8, _ subject: [UInt8], _ reader: BinaryReader
    ) throws(CofferError) -> RemoteCommand.Action {
        switch (word, scope, subject.count) {
        case (Tag.wipe, Tag.all, 0): return .wipe(.all)
        case (Tag.wipe, Tag.tokens, 0): return .wipe(.tokens)
        case (Tag.wipe, Tag.user, _):
            guard let name = String(validating: subject, as: UTF8.self), isName(name) else {
                throw reader.corruptError
            }
            return .wipe(.user(name))
        case (Tag.heartbeat, 0, 0): return .heartbeat
        case (Tag.pin, 0, Ed25519.keySize): return .pin(try AdministratorKey(subject))
        case (Tag.unpin, 0, Ed25519.keySize): return .unpin(try AdministratorKey(subject))
        default: throw reader.corruptError
        }
    }

    static func isReason(_ text: String) -> Bool { text.utf8.count <= maxReasonLength && isPlain(text) }

    static func isName(_ text: String) -> Bool {
        (1...maxNameLength).contains(text.utf8.count) && isPlain(text)
    }

    /// Returns whether the text has no Unicode control characters, which a terminal might interpret.
    private static func isPlain(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    /// Returns a date in whole seconds since 1970; `nil` if a command cannot contain the date.
    static func seconds(_ date: Date) -> UInt64? {
        let seconds = date.timeIntervalSince1970.rounded(.down)
        guard seconds >= 0, seconds <= Double(lastSecond) else { return nil }
        return UInt64(seconds)
    }

    private static func date(_ seconds: UInt64) -> Date { Date(timeIntervalSince1970: Double(seconds)) }
}
