import Coffer
import CofferBase
import CofferCommandLine
import FoundationEssentials

extension RemoteCommand.Action {
    /// The action as a word: wipe, heartbeat, trust-key or distrust-key.
    var word: String {
        switch self {
        case .wipe: "wipe"
        case .heartbeat: "heartbeat"
        case .pin: "trust-key"
        case .unpin: "distrust-key"
        }
    }

    /// The part of the vault that the command erases, the user whose namespace the command erases, and the
    /// key that the command concerns.
    fileprivate var details: (scope: String?, user: String?, key: String?) {
        switch self {
        case .wipe(.user(let name)): ("user", name, nil)
        case .wipe(let scope): (scope.name, nil, nil)
        case .heartbeat: (nil, nil, nil)
        case .pin(let key), .unpin(let key): (nil, nil, key.description)
        }
    }
}

extension RemoteCommand.Target {
    /// The id of the vault or of the device.
    fileprivate var names: (vault: String?, device: String?) {
        switch self {
        case .vault(let id): (id.uuidString, nil)
        case .device(let id): (nil, id.description)
        }
    }
}

extension SignedPolicy {
    /// The policy's fields as members of a JSON document. The counter is represented as text because it has
    /// 64 bits.
    var members: [(String, JSONDocument)] {
        let (vault, device) = target.names
        return [
            ("vault", vault.map { .text($0) } ?? .none), ("device", device.map { .text($0) } ?? .none),
            ("counter", .text(String(counter))), ("issued", .text(issued.iso8601)),
            ("expires", .text(expires.iso8601)), ("signer", .text(claimedSigner.description)),
            ("format", .text(format.rawValue)),
        ]
    }

    /// The policy's fields as lines for the user.
    var lines: [String] { JSONDocument.lines(members) }
}

extension JSONDocument {
    /// Returns the members with a text as lines for the user.
    fileprivate static func lines(_ members: [(String, JSONDocument)]) -> [String] {
        members.compactMap { name, value in
            guard case .value(.string(let text)) = value, !text.isEmpty else { return nil }
            return "\(name): \(text.printable)"
        }
    }
}

extension SignedCommand {
    /// The command's contents as members of a JSON document. The counter is represented as text because it
    /// has 64 bits.
    var members: [(String, JSONDocument)] {
        let (scope, user, key) = content.action.details
        let (vault, device) = content.target.names
        return [
            ("action", .text(content.action.word)), ("scope", Self.optional(scope)),
            ("user", Self.optional(user)), ("key", Self.optional(key)), ("vault", Self.optional(vault)),
            ("device", Self.optional(device)), ("counter", .text(String(content.counter))),
            ("issued", .text(content.issued.iso8601)), ("expires", .text(content.expires.iso8601)),
            ("signer", .text(claimedSigner.description)), ("digest", .text(digest)),
            ("reason", .text(content.reason)),
        ]
    }

    private static func optional(_ text: String?) -> JSONDocument { text.map { .text($0) } ?? .none }

    /// The command's contents as lines for the user, without the fields that are absent.
    var lines: [String] { JSONDocument.lines(members) }
}
