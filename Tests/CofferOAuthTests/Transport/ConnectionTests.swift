import Coffer
import CofferBase
import CofferEngine
import CofferEngineHTTP
import CofferOAuth
import CofferTesting
import Foundation
import SystemPackage
import Testing

@Suite(
    "Connections of the transport over libcurl", .enabled(if: CurlTransport.libraryVersion != nil),
    .enabled("python3 or openssl is not installed") { await ScriptedServer.isPossible() })
struct ConnectionTests {
    /// Performs an exchange that must keep a rate of 1000 bytes a second, measured over a second.
    private func failure(_ server: ScriptedServer) async throws -> CofferError.Code? {
        var plan = HTTPPlan(method: "GET", url: try server.url("/x").text, userAgent: "test")
        guard case .certificates(let authorities) = server.security.trust else { return .internalFailure }
        plan.authorities = authorities
        plan.totalTime = .seconds(60)
        plan.lowestRate = 1000
        plan.lowestRateTime = .seconds(1)
        return try await BlockingExecutor.run {
            [plan] (cancellation) throws(CofferError) -> CofferError.Code? in
            let none: [UInt8] = []
            let outcome = try HTTPExchange.run(
                plan, fields: none.span, body: none.span, key: none.span, proxyCredentials: none.span
            ) { cancellation.isCancelled }
            return outcome.failure?.code
        }
    }

    @Test("The lowest rate counts from the first byte on: a server may think longer")
    func rate() async throws {
        try await ScriptedServer.with { server in
            let answer = Array((ScriptedAnswer.head(200, [("Content-Length", "2")]) + "{}").utf8)
            try await server.answer("/x", ScriptedAnswer([.pause(.seconds(4)), .send(answer)]))
            #expect(try await failure(server) == nil)
            let head = Array(ScriptedAnswer.head(200, [("Content-Length", "60")]).utf8)
            let body = [UInt8](repeating: UInt8(ascii: "a"), count: 60)
            let slow = ScriptedAnswer.Step.sendSlowly(body, pause: .milliseconds(500))
            try await server.answer("/x", ScriptedAnswer([.send(head), slow]))
            #expect(try await failure(server) == .timedOut)
        }
    }

    @Test("A program that is started during an exchange does not inherit the connection")
    func descriptors() async throws {
        try await ScriptedServer.with { server in
            try await server.answer("/x", ScriptedAnswer([.pause(.seconds(20))]))
            let request = HTTPRequest(method: .get, url: try server.url("/x"), security: server.security)
            let task = Task { _ = try? await CurlTransport().exchange(request) }
            while try await server.requests().isEmpty { await Task.yield() }
            let found = try flags(connectedTo: try server.url("/x").port)
            task.cancel()
            await task.value
            let areClosed = found.allSatisfy { $0 & 0o2_000_000 != 0 }
            #expect(!found.isEmpty && areClosed, "\(found)")
        }
    }

    /// The flags of this process's sockets that are connected to a port of 127.0.0.1.
    private func flags(connectedTo port: UInt16) throws -> [Int] {
        let digits = String(port, radix: 16, uppercase: true)
        let remote = "0100007F:" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
        let table = try #require(ProcFile.read("/proc/self/net/tcp"))
        let links = table.split(separator: "\n").compactMap { line -> String? in
            let words = line.split(separator: " ")
            return words.count > 9 && words[2] == remote ? "socket:[\(words[9])]" : nil
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return names.compactMap { name -> Int? in
            let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
            guard let link, links.contains(link) else { return nil }
            let lines = ProcFile.read(FilePath("/proc/self/fdinfo/" + name))?.split(separator: "\n") ?? []
            let words = lines.first { $0.hasPrefix("flags:") }?.split(whereSeparator: \.isWhitespace)
            return words?.last.flatMap { Int($0, radix: 8) }
        }
    }
}
