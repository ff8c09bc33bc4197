@testable import CofferOAuth
import CofferBase
import CofferCrypto
import CofferEngine
import CofferTesting
import TestSupport
import Testing

@Suite("The memory of an exchange with a client certificate")
struct ClientKeyMemoryTests {
    /// The complements of pieces of a key: 24 bytes of its number in both orders, and 24 characters of the
    /// file's second line, which encode its middle. The pieces themselves never leave guarded memory.
    private static func complements(of file: borrowing SecretBytes) throws(CofferError) -> [[UInt8]] {
        let number = try ECDSAP256.privateKey(importing: file)
        var found: [[UInt8]] = number.exposing { bytes in
            [(0..<24).map { ~bytes[$0] }, (0..<24).map { ~bytes[31 - $0] }]
        }
        let line = "-----BEGIN PRIVATE KEY-----\n".utf8.count + 65
        found.append(file.exposing { bytes in (line..<line + 24).map { ~bytes[$0] } })
        return found
    }

    /// Performs an exchange and returns what its key looked like.
    private static func exchange() async throws -> [[UInt8]] {
        try await ScriptedServer.with { server in
            try await server.answer("/", .response(body: "{}"))
            var security = server.security
            let certificate = try server.clientCertificate()
            security.clientCertificate = certificate
            let request = HTTPRequest(method: .get, url: try server.url("/"), security: security)
            #expect(try await CurlTransport().exchange(request).status == 200)
            #expect(try await server.requests().map(\.clientName) == ["coffer client"])
            let needles = try complements(of: certificate.key.bytes)
            // The search finds what is there: the file is still in guarded memory.
            #expect(try OwnMemory.count(complementsOf: needles) > 0)
            return needles
        }
    }

    @Test(
        "A client's key is nowhere in memory after the exchange",
        .enabled(if: CurlTransport.libraryVersion != nil),
        .enabled(if: OwnMemory.isReadable, "/proc/self/mem cannot be read here"),
        .enabled("python3 or openssl is not installed") { await ScriptedServer.isPossible() })
    func residue() async {
        await #expect(processExitsWith: .success) {
            let needles = try await ClientKeyMemoryTests.exchange()
            // The thread of the exchange may hold the request a moment longer than the caller waits.
            var count = 1
            for _ in 0..<20 where count > 0 {
                await Task.yield()
                count = try OwnMemory.count(complementsOf: needles)
            }
            #expect(count == 0)
        }
    }
}
