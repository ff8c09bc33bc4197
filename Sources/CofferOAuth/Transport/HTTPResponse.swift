public import CofferBase
public import CofferCrypto

/// A response from a server. Its body is kept in guarded memory.
public struct HTTPResponse: Sendable {
    /// The status code.
    public let status: Int
    /// The fields in the order of arrival, with names in lower case. `Set-Cookie` is not among them.
    public let headers: [(name: String, value: String)]
    /// Whether the body is whole: its length is the announced one, its last chunk arrived, or no length was
    /// announced and the server ended the connection with TLS's closing message. If `false`, the body is
    /// what arrived before the connection broke, a time limit passed or the task was cancelled.
    ///
    /// A server that announces no length and sends no closing message leaves it open whether something is
    /// missing: the form of the body, such as JSON, must tell.
    public let isComplete: Bool
    private let content: SecretBox

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - headers: The fields, with names in lower case.
    ///   - body: The body, which may be empty.
    ///   - isComplete: Whether the body is whole.
    public init(
        status: Int, headers: [(name: String, value: String)], body: consuming SecretBytes,
        isComplete: Bool = true
    ) {
        self.status = status
        self.headers = headers
        self.isComplete = isComplete
        content = SecretBox(body)
    }

    /// The body, which may be empty.
    public var body: SecretBytes { _read { yield content.bytes } }

    /// Whether nothing of a JSON document is missing: the connection says so, or the body is a whole object
    /// or array. Some servers announce no length and send no closing message, so only the text tells.
    var isWhole: Bool {
        if isComplete { return true }
        return content.bytes.exposing { (text) -> Bool in JSONEnd.isReached(in: text) }
    }

    /// Returns the value of the only field with this name.
    ///
    /// - Parameter name: The name, in any case.
    /// - Returns: The value; `nil` if there is no such field.
    /// - Throws: `serverMalformed` if there are several such fields.
    public func header(_ name: String) throws(CofferError) -> String? {
        try HTTPHead.onlyValue(of: name, in: headers)
    }
}
