@testable import Coffer
@testable import CofferCrypto
import CofferBase
import CofferEngine
import CofferVectors
import SystemPackage

/// Text that comes from files and from the command line: JSON, hexadecimal digits and names.
extension FuzzTarget {
    static let texts = [
        FuzzTarget("json") { bytes, _ in try readJSON(bytes) },
        FuzzTarget("vectors") { bytes, _ in
            guard let document = try? JSONValue(parsing: bytes), document.largest <= 5000 else { return }
            let report = VectorRunner().run(bytes, path: "fuzz.json")
            try FuzzFinding.require(
                report.accepted + report.refused + report.failures.count { $0.id > 0 } <= report.results.count
                    || !report.problems.isEmpty, "more tests were counted than looked at")
        },
        FuzzTarget("manifest") { bytes, _ in
            var manifest = VectorManifest()
            try manifest.add(bytes)
        },
        FuzzTarget("hex") { bytes, _ in try readHex(bytes) },
        FuzzTarget("recovery-key") { bytes, _ in try readRecoveryKey(bytes) },
        FuzzTarget("passcode") { bytes, _ in try countPasscode(bytes) },
        FuzzTarget("names") { bytes, _ in
            try readName(bytes)
            let text = String(decoding: bytes, as: UTF8.self)
            let path = FilePath(text)
            if let id = FileID(fileName: path) {
                try FuzzFinding.require(id.fileName == path, "a file's name is another")
            }
            let parts = text.split(separator: "\n", maxSplits: 1).map(String.init)
            _ = try? TokenID(service: parts.first ?? "", account: parts.last ?? "")
            let id = try FileID(text)
            try FuzzFinding.require(try FileID(id.description) == id, "a file's id is another")
        },
    ]

    /// A value that was read is written as text, and that text is read as the same value.
    private static func readJSON(_ bytes: [UInt8]) throws {
        let value = try JSONValue(parsing: bytes)
        let again = try? JSONValue(parsing: value.jsonText())
        try FuzzFinding.require(again == value, "a JSON value comes back as another")
    }

    /// A name is kept byte for byte, whatever text it is, or is none; one of ours is written back as it was.
    private static func readName(_ bytes: [UInt8]) throws {
        let isName = !bytes.isEmpty && !bytes.contains(0) && !bytes.contains(UInt8(ascii: "/"))
        let component = FileNameBytes.component(bytes)
        try FuzzFinding.require((component != nil) == isName, "what the kernel takes for a name is none")
        guard let component else { return }
        try FuzzFinding.require(FileNameBytes.of(component) == bytes, "a name has other bytes")
        let isOfDots = bytes.count <= 2 && bytes.allSatisfy { $0 == UInt8(ascii: ".") }
        try FuzzFinding.require(
            (FilePath.Component(bytes: bytes) == nil) == isOfDots, "a directory's own name is a file's")
        let name = FilePath(root: nil, [component])
        for id in [FileID(fileName: name)?.fileName, FileID(temporaryName: name)?.temporaryName] {
            guard let id else { continue }
            try FuzzFinding.require(FileNameBytes.of(id) == bytes, "a file's name is another")
        }
        if PendingTokenQueue.Entry(name) != nil {
            try FuzzFinding.require(bytes.allSatisfy { $0 < 0x80 }, "a token's file has a name of no digits")
        }
    }

    /// A recovery key that was read is written as the symbols that were read, and each of them matters.
    private static func readRecoveryKey(_ bytes: [UInt8]) throws {
        let key = try RecoveryKey(SecretBytes.copying(bytes.span))
        let text = try key.text().exposing { $0.copied() }
        let again = try RecoveryKey(SecretBytes.copying(text.span))
        try FuzzFinding.require(again.isEqual(to: key), "a recovery key comes back as another")
        let separators = Array(" -\t".utf8)
        let read = bytes.filter { !separators.contains($0) }
        let written = text.filter { !separators.contains($0) }
        try FuzzFinding.require(read.count == written.count, "symbols were left out")
        for (character, symbol) in zip(read, written) {
            let isSame = character == symbol || character & 0xDF == symbol && character >= 0x61
            let isAlias = Array("OoIiLl".utf8).contains(character) && Array("01".utf8).contains(symbol)
            try FuzzFinding.require(isSame || isAlias, "a symbol is read as another")
        }
    }

    /// Characters are counted as the language counts them, where the bytes are text.
    private static func countPasscode(_ bytes: [UInt8]) throws {
        let found = PasscodeCharacters(bytes.span)
        try FuzzFinding.require(found.count <= bytes.count, "more characters than bytes")
        try FuzzFinding.require((found.count == 0) == bytes.isEmpty, "no characters, or none but some")
        try FuzzFinding.require(
            found.letters + found.digits <= bytes.count, "more letters and digits than bytes")
        guard let text = String(validating: bytes, as: UTF8.self) else { return }
        try FuzzFinding.require(found.count == text.count, "characters are counted otherwise")
        let digits = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        try FuzzFinding.require(found.isOfKeypad == digits, "digits of a keypad are others")
    }

    /// The two decoders, one for public text and one for secrets, must agree.
    private static func readHex(_ bytes: [UInt8]) throws {
        let digits = bytes.filter { $0 < 0x80 }
        let text = String(decoding: digits, as: UTF8.self)
        let plain = HexText.decode(text)
        var guarded: [UInt8]?
        do throws(CofferError) {
            let decoded = try Encoding.decodeHex(digits.span)
            guarded = decoded.span.copied()
        } catch {
            guarded = nil
        }
        try FuzzFinding.require(plain == guarded, "the decoders of hexadecimal digits do not agree")
        guard let plain else { return }
        try FuzzFinding.require(HexText.encode(plain) == text.lowercased(), "the digits come back as others")
    }
}

extension JSONValue {
    /// The largest whole number in the document: as rounds or sizes it would cost time and not find more.
    fileprivate var largest: Int64 {
        switch self {
        case .integer(let number): number
        case .array(let elements): elements.map(\.largest).max() ?? 0
        case .object(let members): members.values.map(\.largest).max() ?? 0
        default: 0
        }
    }
}
