import CofferBase
import CofferOAuth

/// The laws about connections.
extension OAuthTransportContract {
    static let connections = [
        OAuthTransportContract("nothing is sent to a server with a wrong certificate") { bench in
            try await bench.answer(.response(body: "{}"))
            for certificate in ScriptedServer.Certificate.allCases where certificate != .valid {
                try await bench.requireFailure(.certificateRefused, certificate: certificate)
            }
            // The system trusts no authority of a test, or has no store.
            try await bench.requireFailure(
                .certificateRefused, .invalidInput, security: TransportSecurity())
            let count = try await bench.server.requests().count
            try bench.require(count == 0, "\(count) requests arrived")
        },
        OAuthTransportContract("a pin is required in addition to the certificate") { bench in
            try await bench.answer(.response(body: "{}"))
            var security = bench.server.security
            var wrong = bench.server.pin
            wrong[0] ^= 1
            security.pins = [wrong]
            try await bench.requireFailure(.certificateRefused, security: security)
            let count = try await bench.server.requests().count
            try bench.require(count == 0, "\(count) requests arrived")
            security.pins = [wrong, bench.server.pin]
            let response = try await bench.exchange(security: security)
            try bench.require(response, body: "{}", isComplete: true)
            try await bench.requireFailure(
                .certificateRefused, security: security, certificate: .stranger)
        },
        OAuthTransportContract("a client certificate is shown if there is one") { bench in
            try await bench.answer(.response(body: "{}"))
            _ = try await bench.exchange()
            var security = bench.server.security
            security.clientCertificate = try bench.server.clientCertificate()
            _ = try await bench.exchange(security: security)
            let names = try await bench.server.requests().map { $0.clientName ?? "" }
            try bench.require(names == ["", "coffer client"], "the names are \(names)")
        },
        OAuthTransportContract("TLS 1.2 or later is used") { bench in
            try await bench.answer(.response(body: "{}"))
            _ = try await bench.exchange()
            let version = try await bench.server.requests().first?.tlsVersion ?? ""
            try bench.require(["TLSv1.2", "TLSv1.3"].contains(version), "the version is \(version)")
        },
        OAuthTransportContract("a cancelled task ends its exchange") { bench in
            try await bench.answer(ScriptedAnswer([.pause(.seconds(20))]))
            let task = Task { () async -> CofferError? in
                do throws(CofferError) {
                    _ = try await bench.exchange()
                    return nil
                } catch {
                    return error
                }
            }
            while try await bench.server.requests().isEmpty { await Task.yield() }
            task.cancel()
            let error = await task.value
            try bench.require(error?.code == .cancelled, error.map(\.description) ?? "there was a response")
        },
        OAuthTransportContract("many exchanges at once do not disturb each other") { bench in
            try await bench.answer(.response(body: "{}"))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<16 {
                    group.addTask {
                        let response = try await bench.exchange(.post, body: "a=b")
                        try bench.require(response, body: "{}", isComplete: true)
                    }
                }
                try await group.waitForAll()
            }
            let count = try await bench.server.requests().count
            try bench.require(count == 16, "\(count) requests arrived")
        },
    ]
}
