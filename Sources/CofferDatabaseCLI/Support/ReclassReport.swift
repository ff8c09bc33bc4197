import ArgumentParser
import Coffer
import CofferBase
import CofferCommandLine

/// The result of `coffer reclass`, for tokens, databases and files together.
struct ReclassReport {
    private struct Kept {
        let kind: String
        let name: String
        let reason: KeptClassReason

        var document: JSONDocument {
            .object([("item", .text(kind)), ("name", .text(name)), ("reason", .text(reason.rawValue))])
        }
    }

    private var changed: [(kind: String, count: Int)] = []
    private var unchanged = 0
    private var kept: [Kept] = []

    mutating func add<Item>(
        _ result: Reclassification<Item>, _ kind: String, _ name: (Item) -> String
    ) {
        changed.append((kind, result.changed))
        unchanged += result.unchanged
        for one in result.kept { kept.append(Kept(kind: kind, name: name(one.item), reason: one.reason)) }
    }

    /// Returns the name of the member of the JSON document that counts items of a kind.
    private static func field(_ kind: String) -> String {
        kind.hasSameBytes(as: "key pair") ? "keyPairs" : kind + "s"
    }

    /// Prints the report; exits with the code for a refusal if any item kept its class.
    func show(asJSON: Bool, _ protection: ProtectionClass) throws {
        if asJSON {
            var fields: [(String, JSONDocument)] = changed.map { (Self.field($0.kind), .number($0.count)) }
            fields.append(("unchanged", .number(unchanged)))
            fields.append(("kept", .list(kept.map(\.document))))
            try Output.json(.object(fields))
        } else {
            let counts = changed.map { Plural.of($0.count, $0.kind) }.joined(separator: ", ")
            try Output.line("\(counts) now in \(protection.name); \(unchanged) had that class already")
            for one in kept {
                Output.message(
                    "coffer: The \(one.kind) \(one.name.printable) keeps its class: \(one.reason.text).")
            }
        }
        guard kept.isEmpty else { throw ExitCode(CofferError.Code.refused.exitCode) }
    }
}

extension KeptClassReason {
    fileprivate var text: String {
        switch self {
        case .sessionOnly: "it ends with the next lock"
        case .passcodeDependent: "it exists only while a passcode is set"
        case .contextBound: "a context is bound to it, so specify --context"
        case .reserved: "the library or an OAuth profile determines its class"
        case .unreadable: "it is damaged or was written by a newer release"
        }
    }
}
