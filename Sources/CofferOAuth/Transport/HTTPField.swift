public import CofferBase
public import CofferCrypto

/// A field of a request, such as `Authorization`. Its value is kept in guarded memory.
public struct HTTPField: Sendable {
    /// The field's name.
    public let name: String
    let content: SecretBox

    /// Creates a field.
    ///
    /// - Parameters:
    ///   - name: The name. Transports refuse names that are not tokens, and the fields that they write
    ///     themselves.
    ///   - value: The value: visible ASCII characters, with single spaces or tabs between them.
    public init(name: String, value: consuming SecretBytes) {
        self.name = name
        content = SecretBox(value)
    }

    /// Creates a field whose value is not secret.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - value: The value, whose bytes are copied.
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public init(name: String, value: String) throws(CofferError) {
        self.init(name: name, value: try SecretBytes.copying(value))
    }

    /// The field's value.
    public var value: SecretBytes { _read { yield content.bytes } }

    /// The maximum length of a value in bytes.
    static let maxByteCount = 128 << 10

    /// The fields that determine where a message goes, where it ends, or what is remembered.
    private static let reserved = [
        "accept-encoding", "connection", "content-length", "cookie", "expect", "host", "keep-alive",
        "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
        "user-agent",
    ]

    /// Checks that the field can be sent and cannot become part of another one.
    ///
    /// - Throws: `invalidInput` if the name or the value is not allowed.
    func check() throws(CofferError) {
        let folded = name.foldedASCII
        guard !name.utf8.isEmpty, name.utf8.allSatisfy(HTTPHead.isTokenByte),
            !Self.reserved.contains(where: { $0.hasSameBytes(as: folded) })
        else {
            throw CofferError(.invalidInput, "The name of an HTTP field is not allowed.")
        }
        let isValid = content.bytes.exposing { value in
            guard value.count > 0, value.count <= Self.maxByteCount else { return false }
            guard value[0] > 0x20, value[value.count - 1] > 0x20 else { return false }
            for index in 0..<value.count {
                guard (0x20...0x7E).contains(value[index]) || value[index] == 0x09 else { return false }
            }
            return true
        }
        guard isValid else {
            throw CofferError(.invalidInput, "The value of the HTTP field \(name) is not allowed.")
        }
    }
}
