@testable import CofferOAuth
import CofferBase
import CofferEngine
import Testing
import TestSupport

@Suite("The loopback listener")
struct LoopbackListenerTests {
    @Test("A redirect with the right state brings the code, and the browser moves on without it")
    func theCodeArrives() async throws {
        let run = try SignInRun(grace: .seconds(60))
        let answer = try await run.ask(run.get("code=abc%2Bd&state=\(run.state)"))
        #expect(answer.hasPrefix("HTTP/1.1 303 See Other\r\nLocation: /done#\r\n"))
        #expect(answer.contains("Cache-Control: no-store\r\n"))
        #expect(answer.contains("Referrer-Policy: no-referrer\r\n"))
        #expect(!answer.contains("abc") && !answer.contains(run.state))
        let page = try await run.ask("GET /done HTTP/1.1\r\nHost: \(run.host)\r\n\r\n")
        #expect(page.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(try await run.result() == "abc+d")
    }

    @Test("Without a browser that moves on, the listener ends after its grace")
    func nobodyMovesOn() async throws {
        let run = try SignInRun()
        _ = try await run.ask(run.get("code=a&state=\(run.state)"))
        #expect(try await run.result() == "a")
    }

    @Test(
        "Foreign requests are refused, and the listener stays",
        arguments: [
            ("GET /callback?code=a&state=wrong HTTP/1.1\r\nHost: HOST\r\n\r\n", "400"),
            ("GET /callback?code=a HTTP/1.1\r\nHost: HOST\r\n\r\n", "400"),
            ("GET /callback?code=a&state=STATE&state=STATE HTTP/1.1\r\nHost: HOST\r\n\r\n", "400"),
            ("GET /callback?code=a&state=STATE&%73tate=x HTTP/1.1\r\nHost: HOST\r\n\r\n", "400"),
            ("GET /callback?code=a&code=b&state=STATE HTTP/1.1\r\nHost: HOST\r\n\r\n", "400"),
            ("GET /callback?code=%4&state=STATE HTTP/1.1\r\nHost: HOST\r\n\r\n", "400"),
            ("GET /callback HTTP/1.1\r\nHost: HOST\r\n\r\n", "400"),
            ("GET /callback?code=a&state=STATE HTTP/1.1\r\nHost: evil.example\r\n\r\n", "421"),
            ("GET /callback?code=a&state=STATE HTTP/1.1\r\nHost: localhost:1\r\n\r\n", "421"),
            ("GET /callback?code=a&state=STATE HTTP/1.1\r\n\r\n", "421"),
            ("GET /callback?code=a&state=STATE HTTP/1.1\r\nHost: HOST\r\nHost: HOST\r\n\r\n", "400"),
            ("GET /callback?code=a&state=STATE HTTP/1.1\r\nHost : HOST\r\n\r\n", "400"),
            ("GET /callback?code=a&state=STATE HTTP/1.1\nHost: HOST\n\n", "400"),
            ("GET /callback?code=a&state=STATE\r\n", "400"),
            ("GET http://HOST/callback?code=a&state=STATE HTTP/1.1\r\nHost: HOST\r\n\r\n", "400"),
            ("GET /callback/?code=a&state=STATE HTTP/1.1\r\nHost: HOST\r\n\r\n", "404"),
            ("GET /CALLBACK?code=a&state=STATE HTTP/1.1\r\nHost: HOST\r\n\r\n", "404"),
            ("GET /done HTTP/1.1\r\nHost: HOST\r\n\r\n", "404"),
            ("GET /favicon.ico HTTP/1.1\r\nHost: HOST\r\n\r\n", "404"),
            ("POST /callback HTTP/1.1\r\nHost: HOST\r\nContent-Length: 3\r\n\r\na=b", "405"),
            ("HEAD /callback?code=a&state=STATE HTTP/1.1\r\nHost: HOST\r\n\r\n", "405"),
            ("GET /callback?code=a&state=STATE HTTP/1.1\r\nHost: HOST\r\nContent-Length: 1\r\n\r\na", "400"),
        ])
    func foreignRequests(_ request: String, _ status: String) async throws {
        let run = try SignInRun()
        let text = request.replacing("HOST", with: run.host).replacing("STATE", with: run.state)
        let answer = try await run.ask(text)
        #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
        #expect(!answer.contains(run.state))
        _ = try await run.ask(run.get("code=right&state=\(run.state)"))
        #expect(try await run.result() == "right")
    }

    @Test(
        "Another user's program gets no answer, and the listener stays",
        .enabled(if: Environment.userID == 0, "Only root can start a program of another user"))
    func anotherUser() async throws {
        let run = try SignInRun()
        for query in ["code=theirs&state=\(run.state)", "error=access_denied&state=\(run.state)"] {
            let script = "exec 3<>/dev/tcp/127.0.0.1/\(run.listener.port) && cat >&3 && cat <&3"
            let other = try CommandRun.run(
                "setpriv", ["--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", script],
                input: Array(run.get(query).utf8), seconds: 60)
            #expect(other.output.isEmpty && other.code != 127, "\(other.text) \(other.errorText)")
        }
        _ = try await run.ask(run.get("code=right&state=\(run.state)"))
        #expect(try await run.result() == "right")
    }

    @Test("A head of 8 KiB is read, and a longer one is refused", arguments: [8192, 8193, 20_000])
    func longHeads(count: Int) async throws {
        let run = try SignInRun()
        let query = "code=a&state=\(run.state)&filler="
        let filler = String(repeating: "x", count: count - run.get(query).utf8.count)
        let answer = try await run.ask(run.get(query + filler))
        #expect(answer.hasPrefix(count <= 8192 ? "HTTP/1.1 303 " : "HTTP/1.1 431 "))
        if count > 8192 { _ = try await run.ask(run.get("code=a&state=\(run.state)")) }
        #expect(try await run.result() == "a")
    }

    @Test("Of 17 idle connections, the oldest gives way, and the redirect is served")
    func idleConnections() async throws {
        let run = try SignInRun()
        let idle = try (0..<17).map { _ in try run.connect() }
        _ = try await run.ask(run.get("code=a&state=\(run.state)"))
        #expect(try await run.result() == "a")
        #expect(try await SignInRun.ask(idle[0], []).isEmpty)
    }

    @Test("A client that sends single bytes is served, and another one meanwhile")
    func slowClients() async throws {
        let run = try SignInRun()
        let slow = try run.connect()
        #expect(slow.write(Array("GET /call".utf8).span) == 9)
        #expect(try await run.ask(run.get("code=a&state=wrong"), pieces: 1).hasPrefix("HTTP/1.1 400 "))
        let rest = "back?code=b&state=\(run.state) HTTP/1.1\r\nHost: \(run.host)\r\n\r\n"
        #expect(try await SignInRun.ask(slow, Array(rest.utf8), 1).hasPrefix("HTTP/1.1 303 "))
        #expect(try await run.result() == "b")
    }

    @Test("A connection that sends nothing is closed at its deadline")
    func idleDeadline() async throws {
        let run = try SignInRun(connection: .milliseconds(20))
        #expect(try await SignInRun.ask(try run.connect(), []).isEmpty)
        run.cancel()
        #expect(try await run.result() == "cancelled")
    }

    @Test("Of pipelined requests only the first is served")
    func pipelining() async throws {
        let run = try SignInRun()
        let answer = try await run.ask(
            run.get("code=a&state=wrong") + run.get("code=b&state=\(run.state)"))
        #expect(answer.hasPrefix("HTTP/1.1 400 "))
        #expect(!answer.contains("303"))
        _ = try await run.ask(run.get("code=c&state=\(run.state)"))
        #expect(try await run.result() == "c")
    }

    @Test("A connection that closes early changes nothing")
    func earlyClose() async throws {
        let run = try SignInRun()
        do {
            let connection = try run.connect()
            #expect(connection.write(Array("GET /callback?co".utf8).span) == 16)
        }
        _ = try run.connect()
        _ = try await run.ask(run.get("code=a&state=\(run.state)"))
        #expect(try await run.result() == "a")
    }

    @Test("An answer to this sign-in that is invalid ends it")
    func invalidAnswers() async throws {
        for (query, code) in [
            ("iss=https%3A%2F%2Fother.example.org&code=a", "issuerMismatch"), ("code=", "redirectRefused"),
            ("code=a&error=b", "redirectRefused"), ("other=a", "redirectRefused"),
        ] {
            let run = try SignInRun()
            let answer = try await run.ask(run.get(query + "&state=\(run.state)"))
            #expect(answer.hasPrefix("HTTP/1.1 400 "))
            #expect(try await run.result() == code)
        }
    }

    @Test("The server's refusal is an answer")
    func refusals() async throws {
        let run = try SignInRun()
        let answer = try await run.ask(run.get("error=access_denied&state=\(run.state)"))
        #expect(answer.hasPrefix("HTTP/1.1 303 "))
        let redirect = try await run.outcome().get()
        #expect(redirect.refusal?.code == "access_denied")
        #expect(failure { _ = try redirect.code() } == .serverRefused)
    }

    @Test("The listener ends at its deadline and when it is cancelled")
    func ends() async throws {
        #expect(try await SignInRun(limit: .milliseconds(20)).result() == "timedOut")
        let run = try SignInRun()
        run.cancel()
        #expect(try await run.result() == "cancelled")
    }

    @Test("A port that is taken is refused; afterwards it is free again, and a listener serves once")
    func ports() async throws {
        let run = try SignInRun()
        let port = run.listener.port
        #expect(failure { _ = try LoopbackListener.start(port: port) } == .busy)
        run.cancel()
        #expect(try await run.result() == "cancelled")
        let next = try LoopbackListener.start(port: port)
        next.close()
        let request = try SignInSamples.request(redirectURI: next.redirectURI)
        await #expect(throws: CofferError.self) { _ = try await next.redirect(for: request) }
        await #expect(throws: CofferError.self) { _ = try await next.redirect(for: run.request) }
    }

    @Test(
        "Paths that browsers change are refused", arguments: ["", "a", "/a/../b", "/a b", "/ü", "/a?b", "//"])
    func paths(_ path: String) throws {
        #expect(failure { _ = try LoopbackListener.start(path: path) } == .invalidInput)
    }
}
