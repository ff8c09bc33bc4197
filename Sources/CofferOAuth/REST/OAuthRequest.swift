public import CofferBase
public import CofferCrypto

/// A request to a resource server, without its access token, which is added when the request is sent.
///
/// Every request carries `Cache-Control: no-cache, no-store`. The body can be sent again, because a request
/// is repeated once after its token was renewed.
public struct OAuthRequest: Sendable {
    /// The method.
    public let method: HTTPRequest.Method
    /// The URL.
    public let url: HTTPSURL
    /// The header fields that are sent, without the access token. None of them is secret.
    public let headers: [(name: String, value: String)]
    private let content: SecretBox?

    /// The fields that a caller cannot set: they carry tokens or the rule against caches.
    private static let reserved = ["authorization", "cache-control", "dpop"]

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The URL.
    ///   - headers: Further header fields.
    ///   - body: The body, which the request owns from now on; `nil` for none.
    ///   - contentType: The type of the body.
    /// - Throws: `invalidInput` if a field carries a token, is the rule against caches, or contains a control
    ///   character, or if a GET or HEAD request has a body.
    public init(
        _ method: HTTPRequest.Method, _ url: HTTPSURL, headers: [(name: String, value: String)] = [],
        body: consuming SecretBytes? = nil, contentType: String = "application/json"
    ) throws(CofferError) {
        switch consume body {
        case .some(let bytes): content = SecretBox(bytes)
        case .none: content = nil
        }
        guard content == nil || (method != .get && method != .head) else {
            throw CofferError(.invalidInput, "A \(method.rawValue) request must not have a body.")
        }
        var fields = headers
        fields.append((name: "Cache-Control", value: "no-cache, no-store"))
        if content != nil { fields.append((name: "Content-Type", value: contentType)) }
        for (index, field) in fields.enumerated() {
            let folded = field.name.foldedASCII
            let isReserved = index < headers.count && Self.reserved.contains { $0.hasSameBytes(as: folded) }
            guard WireText.isVisible(field.name), !field.name.utf8.contains(UInt8(ascii: ":")), !isReserved,
                field.value.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
            else { throw CofferError(.invalidInput, "A header field of the request is not allowed.") }
        }
        self.method = method
        self.url = url
        self.headers = fields
    }

    /// The size of the body in bytes; `nil` if there is none.
    public var bodyCount: Int? { content.map { $0.bytes.count } }

    /// Returns a copy of the body in guarded memory, for one sending; empty if there is none.
    ///
    /// - Throws: `outOfMemory` if no guarded memory is available.
    public func copyBody() throws(CofferError) -> SecretBytes {
        try content.exposing { (bytes) throws(CofferError) -> SecretBytes in try SecretBytes.copying(bytes) }
    }
}
