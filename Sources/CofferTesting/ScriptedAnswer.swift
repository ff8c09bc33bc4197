import CofferBase
import CofferEngine

/// An answer of a ``ScriptedServer``: the steps that the server takes after it has read a request.
public struct ScriptedAnswer: Sendable {
    /// A step of an answer.
    public enum Step: Sendable {
        /// Sends bytes.
        case send([UInt8])
        /// Waits.
        case pause(Duration)
        /// Sends bytes one at a time, with a pause after each.
        case sendSlowly([UInt8], pause: Duration)
        /// Sends the same bytes again and again until the client closes the connection.
        case sendEndlessly([UInt8])
        /// Closes the connection without TLS's closing message.
        case close
        /// Resets the connection.
        case reset
    }

    /// The steps. After the last one, the server closes the connection as TLS requires.
    public var steps: [Step]

    /// Creates an answer.
    ///
    /// - Parameter steps: The steps.
    public init(_ steps: [Step]) { self.steps = steps }

    /// Creates an answer that sends a text: a whole response, or anything else.
    ///
    /// - Parameters:
    ///   - text: The text, with `\r\n` between lines.
    ///   - end: The steps after it.
    public init(text: String, then end: [Step] = []) { self.init([.send(Array(text.utf8))] + end) }

    /// Returns a valid response with the length of its body.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - fields: Fields beside the length of the body.
    ///   - body: The body.
    /// - Returns: The answer.
    public static func response(
        _ status: Int = 200, fields: [(name: String, value: String)] = [], body: String = ""
    ) -> ScriptedAnswer {
        var all = fields
        if status != 204 { all.append(("Content-Length", String(body.utf8.count))) }
        return ScriptedAnswer(text: head(status, all) + body)
    }

    /// Returns a valid response with a JSON body.
    ///
    /// - Parameters:
    ///   - text: The JSON text.
    ///   - status: The status code.
    /// - Returns: The answer.
    public static func json(_ text: String, status: Int = 200) -> ScriptedAnswer {
        response(
            status, fields: [("Content-Type", "application/json"), ("Cache-Control", "no-store")], body: text)
    }

    /// Returns a redirect.
    ///
    /// - Parameters:
    ///   - target: The content of `Location`.
    ///   - status: The status code.
    /// - Returns: The answer.
    public static func redirect(to target: String, status: Int = 302) -> ScriptedAnswer {
        response(status, fields: [("Location", target)])
    }

    /// Returns a response whose body arrives in chunks.
    ///
    /// - Parameters:
    ///   - pieces: The content of the chunks.
    ///   - isComplete: Whether the last chunk, which ends the body, is sent.
    /// - Returns: The answer.
    public static func chunked(_ pieces: [String], isComplete: Bool = true) -> ScriptedAnswer {
        let chunks = pieces.map { String($0.utf8.count, radix: 16) + "\r\n" + $0 + "\r\n" }.joined()
        let text = head(200, [("Transfer-Encoding", "chunked")]) + chunks
        return isComplete
            ? ScriptedAnswer(text: text + "0\r\n\r\n") : ScriptedAnswer(text: text, then: [.close])
    }

    /// Returns the text of a status line and fields, with the empty line after them.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - fields: The fields.
    /// - Returns: The text.
    public static func head(_ status: Int, _ fields: [(name: String, value: String)] = []) -> String {
        let lines = fields.map { "\($0.name): \($0.value)\r\n" }.joined()
        return "HTTP/1.1 \(status) Scripted\r\n" + lines + "Connection: close\r\n\r\n"
    }

    /// The steps in the form that the server reads.
    func script() throws(CofferError) -> JSONValue {
        var list: [JSONValue] = []
        for step in steps {
            switch step {
            case .send(let bytes): list.append(["send", try Self.text(bytes)])
            case .pause(let time): list.append(["pause", Self.milliseconds(time)])
            case .sendSlowly(let bytes, let pause):
                list.append(["slow", try Self.text(bytes), Self.milliseconds(pause)])
            case .sendEndlessly(let bytes): list.append(["endless", try Self.text(bytes)])
            case .close: list.append(["close"])
            case .reset: list.append(["reset"])
            }
        }
        return .array(list)
    }

    private static func text(_ bytes: [UInt8]) throws(CofferError) -> JSONValue {
        .string(String(decoding: try Encoding.base64Text(bytes), as: UTF8.self))
    }

    private static func milliseconds(_ time: Duration) -> JSONValue {
        let parts = time.components
        return .integer(parts.seconds * 1000 + parts.attoseconds / 1_000_000_000_000_000)
    }
}
