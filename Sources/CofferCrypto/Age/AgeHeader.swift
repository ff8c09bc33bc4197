import CofferBase
import CofferEngine

/// The header of an age file: stanzas, of which each wraps the file key, and a MAC under the file key.
struct AgeHeader {
    let stanzas: [AgeStanza]
    /// The header's bytes up to the MAC, which authenticates them.
    let authenticated: [UInt8]
    let mac: [UInt8]

    /// The maximum size of a header that is read.
    static let sizeLimit = 1 << 20
    /// The maximum number of recipients, whose stanzas of 98 bytes fit into that size.
    static let recipientLimit = 10_000
    static let versionLine = Array("age-encryption.org/v1".utf8)
    /// The beginning of the version line, with which files of every version begin.
    static let versionPrefix = Array("age-encryption.org/".utf8)
    /// The beginning of the header's last line.
    static let end = Array("---".utf8)
    private static let macSize = 32

    /// Creates the header that contains `stanzas`.
    init(_ stanzas: [AgeStanza], key: borrowing AgeFileKey) throws(CofferError) {
        var bytes = Self.versionLine + [UInt8(ascii: "\n")]
        for stanza in stanzas { bytes += try stanza.encoded() }
        bytes += Self.end
        self.stanzas = stanzas
        authenticated = bytes
        mac = try key.mac(of: bytes)
    }

    /// Returns the header as it is written at the start of a file.
    func encoded() throws(CofferError) -> [UInt8] {
        authenticated + [UInt8(ascii: " ")] + (try Encoding.base64TextUnpadded(mac)) + [UInt8(ascii: "\n")]
    }

    /// Parses a complete header.
    ///
    /// - Throws: `corrupt` if the bytes are not exactly one header; `unsupportedVersion` if the header has
    ///   another version.
    init(parsing bytes: [UInt8]) throws(CofferError) {
        guard bytes.last == UInt8(ascii: "\n") else { throw Self.corruptError }
        var lines = bytes.dropLast().split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)[
            ...]
        try Self.check(versionLine: lines.removeFirst())
        guard let last = lines.popLast(), let mac = Self.mac(in: last) else { throw Self.corruptError }
        var stanzas: [AgeStanza] = []
        while let line = lines.popFirst() {
            guard let arguments = AgeStanza.arguments(of: line), let body = Self.body(&lines) else {
                throw Self.corruptError
            }
            stanzas.append(AgeStanza(arguments, body: body))
        }
        guard !stanzas.isEmpty else { throw Self.corruptError }
        self.stanzas = stanzas
        self.mac = mac
        authenticated = Array(bytes[..<(last.startIndex + Self.end.count)])
    }

    /// Throws unless `line` is the first line of an age file that this release can read.
    static func check(versionLine line: some Collection<UInt8>) throws(CofferError) {
        guard line.starts(with: versionPrefix) else { throw noAgeFileError }
        if line.elementsEqual(versionLine) { return }
        guard line.dropFirst(versionPrefix.count).first == UInt8(ascii: "v"),
            line.dropFirst(versionPrefix.count + 1).allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw corruptError }
        throw CofferError(
            .unsupportedVersion,
            "The age file has a version that this release cannot read. This release reads version 1.")
    }

    /// Removes the lines of a stanza's body and returns the body, or `nil` if it is not valid.
    private static func body(_ lines: inout ArraySlice<ArraySlice<UInt8>>) -> [UInt8]? {
        var text: [UInt8] = []
        while let line = lines.popFirst() {
            guard line.count <= AgeStanza.lineSize else { return nil }
            text += line
            if line.count < AgeStanza.lineSize {
                return try? Encoding.decodeBase64Text(text, isPadded: false)
            }
        }
        return nil
    }

    private static func mac(in line: ArraySlice<UInt8>) -> [UInt8]? {
        guard line.starts(with: end + [UInt8(ascii: " ")]) else { return nil }
        let text = Array(line.dropFirst(end.count + 1))
        guard let mac = try? Encoding.decodeBase64Text(text, isPadded: false), mac.count == macSize else {
            return nil
        }
        return mac
    }

    static var noAgeFileError: CofferError {
        CofferError(.corrupt, "The file is not an age file, or its first bytes are damaged.")
    }

    static var corruptError: CofferError {
        CofferError(.corrupt, "The header of the age file is damaged.", remedy: .useAnotherCopy)
    }
}
