import CofferBase
import CofferCrypto
import CofferEngine

/// The properties of a response by which the answers of OAuth servers are judged.
extension HTTPResponse {
    /// The longest wait that a server can ask for with `Retry-After`.
    static let longestWait = Duration.seconds(3600)

    /// The wait that `Retry-After` asks for in seconds, at most an hour.
    ///
    /// A date, an invalid or a repeated field gives `nil`: the client's own schedule applies, as it does
    /// without the field.
    var retryAfter: Duration? {
        let values = headers.filter { $0.name.hasSameBytes(as: "retry-after") }
        guard values.count == 1, let seconds = values.first.flatMap({ WireText.number($0.value.utf8) }) else {
            return nil
        }
        return min(.seconds(seconds), Self.longestWait)
    }

    /// Whether the status says that the server could not judge the request, so that the same request can
    /// succeed later: 408, 425, 429 or 5xx.
    var isTemporary: Bool { [408, 425, 429].contains(status) || (500..<600).contains(status) }

    /// Whether the status says that the request succeeded.
    var isSuccess: Bool { (200..<300).contains(status) }

    /// Whether the status is that of a redirect, which no client follows from an OAuth endpoint.
    var isRedirect: Bool { (300..<400).contains(status) }

    /// Whether the status says that the server refused the request.
    var isRefusal: Bool { (400..<500).contains(status) && !isTemporary }

    /// The body as a JSON object; `nil` if it is none, such as an empty body or a page of HTML.
    func json() throws(CofferError) -> GuardedJSON? {
        do throws(CofferError) {
            return try body.exposing { (bytes) throws(CofferError) -> GuardedJSON in
                try GuardedJSON(copying: bytes)
            }
        } catch {
            guard error.code == .serverMalformed else { throw error }
            return nil
        }
    }

    /// The word that is the whole body, as some services write an error code; `nil` if there is none.
    var onlyWord: String? {
        guard body.count <= 256 else { return nil }
        let bytes = body.exposing { $0.copied() }
        let words = bytes.split { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
        guard words.count == 1 else { return nil }
        return words.first.flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Throws unless the answer is whole and a success: `serverUnreachable` if the same request can
    /// succeed later, `redirectRefused` for a redirect, otherwise `serverRefused` with the server's code.
    func requireSuccess() throws(CofferError) {
        let isWhole = isWhole
        if isSuccess && isWhole { return }
        if isTemporary || !isWhole {
            throw CofferError(
                .serverUnreachable, "The server did not answer completely (HTTP status \(status)).",
                retryAfter: retryAfter)
        }
        guard !isRedirect else {
            throw CofferError(
                .redirectRefused, "The server answered with a redirect (HTTP status \(status)).")
        }
        let refusal = try json().flatMap { TokenErrorResponse($0) }
        throw CofferError(
            .serverRefused, refusal?.message ?? "The server refused the request (HTTP status \(status)).",
            serverCode: refusal?.error)
    }
}
