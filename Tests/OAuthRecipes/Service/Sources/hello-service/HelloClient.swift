// snippet: service
import AsyncHTTPClient
import Coffer
import CofferOAuth

struct HelloClient {
    let grant: Grant
    let http: HTTPClient

    func get(_ url: HTTPSURL) async throws -> HTTPClientResponse {
        let response = try await send(url)
        guard response.status == .unauthorized else { return response }
        try await grant.refresh()
        return try await send(url)
    }

    private func send(_ url: HTTPSURL) async throws -> HTTPClientResponse {
        let value = try await grant.withAccessToken(for: url) { (token, _) throws(CofferError) -> String? in
            token.exposingString { text in "Bearer " + text }
        }
        var request = HTTPClientRequest(url: url.text)
        request.headers.add(name: "Authorization", value: value ?? "")
        return try await http.execute(request, timeout: .seconds(30))
    }
}
// snippet end
