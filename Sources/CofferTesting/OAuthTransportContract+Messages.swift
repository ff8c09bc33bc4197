import CofferBase
import CofferEngine
import CofferOAuth

/// The laws about requests and whole responses.
extension OAuthTransportContract {
    static let messages = [
        OAuthTransportContract("a response has the status, the fields and the body that were sent") { bench in
            try await bench.answer(
                .response(
                    201, fields: [("X-One", "  a b "), ("X-Two", "1"), ("x-two", "2")], body: "{\"a\":1}"))
            let response = try await bench.exchange()
            try bench.require(response.status == 201, "the status is \(response.status)")
            try bench.require(response, body: "{\"a\":1}", isComplete: true)
            let one = try response.header("x-ONE")
            try bench.require(one?.hasSameBytes(as: "a b") == true, "X-One is \(one ?? "absent")")
            try bench.require(try response.header("x-three") == nil, "there is X-Three")
            var refusal: CofferError?
            do throws(CofferError) { _ = try response.header("x-two") } catch { refusal = error }
            try bench.require(refusal?.code == .serverMalformed, "a field that occurs twice was read")
        },
        OAuthTransportContract("a request arrives as it was made, and once") { bench in
            try await bench.answer(.response(body: "ok"))
            let fields = [
                try HTTPField(name: "Authorization", value: "Bearer abc.def"),
                try HTTPField(name: "Content-Type", value: "application/json"),
            ]
            for method in [HTTPRequest.Method.post, .put, .patch, .delete] {
                try await bench.server.forgetRequests()
                _ = try await bench.exchange(method, headers: fields, body: "{\"a\":\"é\"}")
                let requests = try await bench.server.requests()
                try bench.require(requests.count == 1, "\(requests.count) requests arrived")
                guard let request = requests.first else { return }
                try bench.require(request.method.hasSameBytes(as: method.rawValue), request.method)
                try bench.require(request.target.hasSameBytes(as: "/x?a=b%20c"), request.target)
                try bench.require(request.body == Array("{\"a\":\"é\"}".utf8), "the body differs")
                for field in [
                    ("authorization", "Bearer abc.def"), ("content-type", "application/json"),
                    ("accept-encoding", "identity"), ("content-length", "10"),
                ] {
                    let values = request.values(of: field.0)
                    try bench.require(values == [field.1], "\(field.0) is \(values)")
                }
                for name in ["cookie", "expect", "referer", "transfer-encoding", "upgrade"] {
                    try bench.require(request.values(of: name).isEmpty, "there is \(name)")
                }
            }
        },
        OAuthTransportContract("a request without a body names no content") { bench in
            try await bench.answer(.response(body: "ok"))
            _ = try await bench.exchange(.get)
            _ = try await bench.exchange(.post)
            let requests = try await bench.server.requests()
            try bench.require(requests.count == 2, "\(requests.count) requests arrived")
            for request in requests {
                try bench.require(request.body.isEmpty, "there is a body")
                try bench.require(request.values(of: "content-type").isEmpty, "there is a content type")
            }
            try bench.require(requests.last?.values(of: "content-length") == ["0"], "POST has no length")
        },
        OAuthTransportContract("a redirect is returned and not followed") { bench in
            let target = try bench.server.url("/y").text
            try await bench.server.answer("/y", .response(body: "followed"))
            for status in [301, 302, 303, 307, 308] {
                try await bench.server.forgetRequests()
                try await bench.answer(.redirect(to: target, status: status))
                let response = try await bench.exchange(.post, body: "code=1")
                try bench.require(response.status == status, "the status is \(response.status)")
                let location = try response.header("location")
                try bench.require(location?.hasSameBytes(as: target) == true, "Location is missing")
                let count = try await bench.server.requests().count
                try bench.require(count == 1, "\(count) requests arrived")
            }
        },
        OAuthTransportContract("an error status is a response") { bench in
            for status in [400, 401, 403, 404, 429, 500, 503] {
                try await bench.answer(
                    .response(status, fields: [("WWW-Authenticate", "Basic realm=\"x\"")], body: "{}"))
                let response = try await bench.exchange()
                try bench.require(response.status == status, "the status is \(response.status)")
                try bench.require(response, body: "{}", isComplete: true)
            }
        },
        OAuthTransportContract("no cookie is kept or shown") { bench in
            try await bench.answer(.response(fields: [("Set-Cookie", "id=1; Path=/"), ("X-A", "1")]))
            let response = try await bench.exchange()
            try bench.require(
                !response.headers.contains { $0.name.hasSameBytes(as: "set-cookie") }, "there is a cookie")
            _ = try await bench.exchange()
            let last = try await bench.server.requests().last
            try bench.require(last?.values(of: "cookie").isEmpty == true, "a cookie was sent")
        },
    ]
}
