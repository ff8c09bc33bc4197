import CofferBase
import CofferEngine
import CofferOAuth

/// The laws about framing, broken connections and limits.
extension OAuthTransportContract {
    private static let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"

    static let framing = [
        OAuthTransportContract("a response without a body is whole") { bench in
            try await bench.answer(.response(204))
            try bench.require(try await bench.exchange(), body: "", isComplete: true)
            try await bench.answer(ScriptedAnswer(text: ScriptedAnswer.head(200, [("Content-Length", "9")])))
            try bench.require(try await bench.exchange(.head), body: "", isComplete: true)
        },
        OAuthTransportContract("chunks are put together, and interim responses and trailers left out") {
            bench in
            let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
            let head = ScriptedAnswer.head(200, [("Transfer-Encoding", "chunked")])
            try await bench.answer(
                ScriptedAnswer(
                    text: interim + head + "2\r\n{\"\r\n4;x=y\r\na\":1\r\n1\r\n}\r\n0\r\nX-T: 1\r\n\r\n"))
            let response = try await bench.exchange()
            try bench.require(response.status == 200, "the status is \(response.status)")
            try bench.require(response, body: "{\"a\":1}", isComplete: true)
            let isMixed = response.headers.contains {
                $0.name.hasSameBytes(as: "link") || $0.name.hasSameBytes(as: "x-t")
            }
            try bench.require(!isMixed, "fields of other parts are among those of the response")
        },
        OAuthTransportContract("a body lasts until its length, or until TLS's closing message") { bench in
            for end in [[], [ScriptedAnswer.Step.close]] {
                // Without the message, anybody on the way can have cut the body.
                try await bench.answer(ScriptedAnswer(text: closing + "{\"a\":1}", then: end))
                try bench.require(try await bench.exchange(), body: "{\"a\":1}", isComplete: end.isEmpty)
                try await bench.answer(
                    ScriptedAnswer(
                        text: ScriptedAnswer.head(200, [("Content-Length", "2")]) + "{}", then: end))
                try bench.require(try await bench.exchange(), body: "{}", isComplete: true)
            }
        },
        OAuthTransportContract("a second response on the connection is ignored") { bench in
            let text = ScriptedAnswer.head(200, [("Content-Length", "2")]) + "{}"
            try await bench.answer(ScriptedAnswer(text: text + text))
            try bench.require(try await bench.exchange(), body: "{}", isComplete: true)
        },
        OAuthTransportContract("a body that is cut is returned as cut") { bench in
            let head = ScriptedAnswer.head(200, [("Content-Length", "99")])
            for end in [[], [ScriptedAnswer.Step.close]] {
                try await bench.answer(ScriptedAnswer(text: head + "{\"a\":", then: end))
                try bench.require(try await bench.exchange(), body: "{\"a\":", isComplete: false)
            }
            try await bench.answer(.chunked(["{\"a\":"], isComplete: false))
            try bench.require(try await bench.exchange(), body: "{\"a\":", isComplete: false)
        },
        OAuthTransportContract("a response with two ways to tell its end is refused") { bench in
            for fields in [
                [("Content-Length", "2"), ("Transfer-Encoding", "chunked")],
                [("Content-Length", "2"), ("Content-Length", "2")],
                [("Transfer-Encoding", "gzip, chunked")],
                [("Content-Length", "2"), ("Content-Encoding", "gzip")],
            ] {
                let head = ScriptedAnswer.head(200, fields.map { (name: $0.0, value: $0.1) })
                try await bench.answer(ScriptedAnswer(text: head + "2\r\n{}\r\n0\r\n\r\n"))
                try await bench.requireFailure(.serverMalformed)
            }
        },
    ]

    static let faults = [
        OAuthTransportContract("a connection that ends before a response is not tried again") { bench in
            try await bench.answer(ScriptedAnswer([.close]))
            try await bench.requireFailure(.serverUnreachable)
            try await bench.answer(ScriptedAnswer([]))
            try await bench.requireFailure(.serverUnreachable)
            try await bench.answer(ScriptedAnswer([.reset]))
            try await bench.requireFailure(.serverUnreachable)
            try await bench.answer(ScriptedAnswer(text: "HTTP/1.1 200 OK\r\nContent-Ty", then: [.close]))
            try await bench.requireFailure(.serverUnreachable)
            let count = try await bench.server.requests().count
            try bench.require(count == 4, "\(count) requests arrived instead of 4")
            try await bench.server.dropConnections()
            try await bench.requireFailure(.serverUnreachable)
            let later = try await bench.server.requests().count
            try bench.require(later == 4, "a dropped request was sent again")
        },
        OAuthTransportContract("what is not HTTP/1.1 is refused") { bench in
            for text in ["{\"a\":1}\r\n\r\n", "HTTP/1.1 200 OK\r\nA b: 1\r\n\r\n", "SSH-2.0-x\r\n"] {
                try await bench.answer(ScriptedAnswer(text: text))
                try await bench.requireFailure(.serverMalformed, .serverUnreachable)
            }
        },
        OAuthTransportContract("a header that is too long is refused") { bench in
            let long = [(name: "X-A", value: String(repeating: "a", count: 40 << 10))]
            try await bench.answer(.response(fields: long, body: "{}"))
            try await bench.requireFailure(.serverMalformed)
            let many = (0..<80).map { (name: "X-\($0)", value: "1") }
            try await bench.answer(.response(fields: many, body: "{}"))
            try await bench.requireFailure(.serverMalformed)
        },
        OAuthTransportContract("a body that is too long is refused") { bench in
            let piece = [UInt8](repeating: UInt8(ascii: " "), count: 4096)
            try await bench.answer(ScriptedAnswer([.send(Array(closing.utf8)), .sendEndlessly(piece)]))
            try await bench.requireFailure(.serverMalformed, limits: HTTPLimits(body: 64 << 10))
            try await bench.answer(.response(body: String(repeating: "a", count: 101)))
            try await bench.requireFailure(.serverMalformed, limits: HTTPLimits(body: 100))
            let response = try await bench.exchange(limits: HTTPLimits(body: 101))
            try bench.require(response.isComplete, "a body of the maximum size is not complete")
        },
        OAuthTransportContract("a server that is too slow does not hold the exchange") { bench in
            var limits = HTTPLimits()
            limits.exchange = .milliseconds(700)
            try await bench.answer(ScriptedAnswer([.pause(.seconds(20))]))
            try await bench.requireFailure(.timedOut, limits: limits)
            let head = Array(ScriptedAnswer.head(200, [("Content-Length", "50")]).utf8)
            let body = [UInt8](repeating: UInt8(ascii: "a"), count: 50)
            try await bench.answer(
                ScriptedAnswer([.send(head), .sendSlowly(body, pause: .milliseconds(500))]))
            let response = try await bench.exchange(limits: limits)
            try bench.require(!response.isComplete, "a cut body is called complete")
            try bench.require(!Bench.text(of: response).isEmpty, "the bytes that came are gone")
        },
    ]
}
