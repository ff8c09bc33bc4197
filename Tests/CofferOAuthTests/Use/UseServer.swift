@testable import CofferOAuth
import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Synchronization

/// Servers in memory, which give the answers that a test sets and keep every request.
final class UseServer: OAuthTransport {
    /// A request that arrived.
    struct Request: Sendable {
        let method: HTTPRequest.Method
        let url: String
        let fields: [(name: String, value: String)]
        let body: String

        func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }

        func form(_ name: String) -> String? {
            (try? FormEncoding.decode(body))?.first { $0.name == name }?.value
        }
    }

    /// An answer to a request.
    struct Answer: Sendable {
        var status = 200
        var body = ""
        var fields: [(name: String, value: String)] = []
        var isComplete = true
        var error: CofferError.Code?

        static func json(_ text: String, _ status: Int = 200) -> Answer { Answer(status: status, body: text) }

        static func redirect(_ target: String) -> Answer {
            Answer(status: 302, fields: [("location", target)])
        }

        static let unreachable = Answer(error: .serverUnreachable)
    }

    private struct State {
        var requests: [Request] = []
        var answers: [String: [Answer]] = [:]
    }

    private let state = Mutex(State())

    /// Sets the answers of a URL without its query. The last one is repeated.
    func answer(_ url: String, _ answers: Answer...) { state.withLock { $0.answers[url] = answers } }

    /// The requests of a URL without its query; all without one.
    func requests(_ url: String? = nil) -> [Request] {
        let all = state.withLock { $0.requests }
        guard let url else { return all }
        return all.filter { $0.url.split(separator: "?").first.map { String($0) } == url }
    }

    func exchange(_ request: HTTPRequest) async throws(CofferError) -> HTTPResponse {
        try request.check()
        var fields: [(name: String, value: String)] = []
        for field in request.headers { fields.append((field.name.foldedASCII, text(field.value))) }
        let body = try request.exposingBody { (bytes) throws(CofferError) -> String in
            String(decoding: bytes.copied(), as: UTF8.self)
        }
        let seen = Request(method: request.method, url: request.url.text, fields: fields, body: body)
        let key = String(seen.url.split(separator: "?")[0])
        let answer = state.withLock { state -> Answer in
            state.requests.append(seen)
            guard let answers = state.answers[key], let first = answers.first else {
                return Answer(status: 404)
            }
            if answers.count > 1 { state.answers[key]?.removeFirst() }
            return first
        }
        if let code = answer.error { throw CofferError(code, "The test's server failed.") }
        return HTTPResponse(
            status: answer.status, headers: answer.fields, body: try SecretBytes.copying(answer.body),
            isComplete: answer.isComplete)
    }
}
