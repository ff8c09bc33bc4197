import Coffer
import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

/// Functions that read and describe policy files.
enum PolicyFile {
    /// Reads a policy file, whose name tells its format.
    static func read(_ path: String) throws(CofferError) -> (bytes: [UInt8], document: PolicyDocument) {
        let format = PolicyDocument.Format.allCases.first { path.utf8.hasSuffix(".\($0.rawValue)") }
        guard let format else {
            throw CofferError(
                .invalidInput, "\(path.printable): the name of a policy file must end in .plist or .json.")
        }
        let file = try Descriptor.open(FilePathArgument.path(path), [.read, .nonBlocking])
        let status = try file.status()
        guard status.kind == .regular else {
            throw CofferError(.invalidInput, "\(path.printable) must be a regular file.")
        }
        guard status.size <= Int64(PolicyDocument.maxByteCount) else {
            throw CofferError(
                .invalidInput,
                "\(path.printable): a policy must be at most \(PolicyDocument.maxByteCount) bytes long.")
        }
        let bytes = try file.readAll(limit: PolicyDocument.maxByteCount)
        return (bytes, PolicyDocument(reading: bytes, as: format))
    }

    /// Reads a policy file for a command that distributes it, and prints its findings.
    ///
    /// - Throws: `invalidInput` if the file has mistakes, or unknown keys that are not allowed.
    static func readValid(
        _ path: String, allowUnknown: Bool, _ participle: String
    ) throws(CofferError) -> (bytes: [UInt8], document: PolicyDocument) {
        let (bytes, document) = try read(path)
        for finding in document.findings {
            Output.message(
                "coffer: \(path.printable): \(finding.kind.word), \(finding.description.printable)")
        }
        guard document.isValid else {
            throw CofferError(.invalidInput, "\(path.printable) has mistakes. Nothing was \(participle).")
        }
        guard allowUnknown || !document.findings.contains(where: { $0.kind == .unknownKey }) else {
            throw CofferError(
                .invalidInput,
                "\(path.printable) has unknown keys. Nothing was \(participle). If a newer release knows "
                    + "them, specify --allow-unknown.")
        }
        return (bytes, document)
    }

    /// Returns the last component of a path.
    static func name(_ path: String) -> String { path.parts(between: "/").last ?? path }
}

extension PolicyFinding.Kind {
    /// The word for this kind of finding.
    var word: String {
        switch self {
        case .error: "error"
        case .warning: "warning"
        case .unknownKey: "unknown key"
        }
    }
}

extension PolicyFinding {
    /// The finding as a JSON document.
    func document(file: String) -> JSONDocument {
        .object([
            ("file", .text(file)), ("line", .number(line)), ("kind", .text(kind.rawValue)),
            ("key", key.map { .text($0) } ?? .none), ("message", .text(message)),
            ("suggestion", suggestion.map { .text($0) } ?? .none),
        ])
    }
}

extension ManagedPolicy {
    /// Returns the policy as a JSON document, with the fields of the signed policy in it.
    func document(_ signed: SignedPolicy?) -> JSONDocument {
        .object([
            ("files", .list(files.map { .text($0) })), ("values", .list(keys.map(document))),
            ("notices", .list(notices.map { .text($0) })),
            ("signed", signed.map { .object($0.members) } ?? .none),
        ])
    }

    private func document(of key: PolicyKey) -> JSONDocument {
        .object([
            ("key", .text(key.rawValue)), ("value", self[key]?.document ?? .none),
            ("grade", .text(key.grade.rawValue)),
            (
                "origins",
                .list(
                    origins(of: key).map { .object([("file", .text($0.file)), ("line", .number($0.line))]) })
            ),
        ])
    }

    /// Returns a value as text.
    func text(of key: PolicyKey) -> String {
        self[key]?.text ?? ""
    }
}

extension PolicyValue {
    /// The value as text.
    var text: String {
        switch self {
        case .flag(let flag): flag ? "true" : "false"
        case .number(let number): number.description
        case .text(let text): text
        case .list(let texts): texts.joined(separator: ", ")
        }
    }

    /// The value as a JSON document.
    var document: JSONDocument {
        switch self {
        case .flag(let flag): .flag(flag)
        case .number(let number): .number(number)
        case .text(let text): .text(text)
        case .list(let texts): .list(texts.map { .text($0) })
        }
    }
}
