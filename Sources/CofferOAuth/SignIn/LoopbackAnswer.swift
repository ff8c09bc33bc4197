/// The answers of the loopback listener. They are the same for every sign-in and contain nothing from the
/// request.
package enum LoopbackAnswer: Sendable, Equatable {
    /// The redirect was accepted, and the browser moves on to this path.
    case moved(String)
    /// The page after the redirect.
    case done
    /// The request is invalid, or it does not belong to this sign-in.
    case badRequest
    /// The `Host` header is not the listener's address.
    case wrongHost
    /// The path is neither that of the redirect nor, after a redirect, that of the page that follows.
    case notFound
    /// The method is not `GET`.
    case wrongMethod
    /// The head of the request is too long.
    case tooLong

    private var status: String {
        switch self {
        case .moved: "303 See Other"
        case .done: "200 OK"
        case .badRequest: "400 Bad Request"
        case .wrongHost: "421 Misdirected Request"
        case .notFound: "404 Not Found"
        case .wrongMethod: "405 Method Not Allowed"
        case .tooLong: "431 Request Header Fields Too Large"
        }
    }

    private var body: String {
        switch self {
        case .moved, .done:
            "The answer has arrived. You can close this page and return to the application.\n"
        case .badRequest: "This request does not belong to the current sign-in.\n"
        case .wrongHost, .notFound, .wrongMethod, .tooLong: "There is nothing here.\n"
        }
    }

    private var field: String {
        switch self {
        // The empty fragment replaces one in the address of the redirect.
        case .moved(let path): "Location: \(path)#\r\n"
        case .wrongMethod: "Allow: GET\r\n"
        default: ""
        }
    }

    /// The bytes of the answer.
    package var bytes: [UInt8] {
        let text =
            "HTTP/1.1 \(status)\r\n\(field)"
            + "Content-Type: text/plain; charset=utf-8\r\nContent-Length: \(body.utf8.count)\r\n"
            + "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
            + "Content-Security-Policy: default-src 'none'\r\nX-Content-Type-Options: nosniff\r\n"
            + "Connection: close\r\n\r\n\(body)"
        return Array(text.utf8)
    }
}
