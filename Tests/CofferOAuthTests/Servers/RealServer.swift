@testable import CofferOAuth
import Coffer
import CofferBase
import CofferCrypto
import CofferEngine
import Foundation
import Synchronization
import TestSupport

/// A real authorization server on this machine, which `Scripts/oauth-servers prepare` has made ready.
final class RealServer: Sendable {
    enum Kind: String, Sendable, CaseIterable { case glewlwyd, django }

    /// The settings of a server.
    struct Options: Sendable {
        /// The seconds for which a used refresh token gives its successor again. Only Django has that.
        var grace = 0
        /// The life of access tokens in seconds.
        var life = 600
        /// Whether a proxy stands in front that loses answers and writes down the requests.
        var hasFaults = false
    }

    /// A registered client.
    struct Client: Sendable {
        let name: String
        let authentication: String
        let secret: String?
    }

    /// A line of the log. Tokens are hashed.
    struct Request: Sendable, Equatable {
        let path: String
        let grant: String?
        let status: Int64?
        let error: String?
        let fault: String?
        let refreshToken: String?
    }

    private static let folder = PackageRoot.path + ".build/oauth-servers"
    private static let script = PackageRoot.path + "Tests/OAuthServers/servers.py"
    private static let prepared: JSONValue? = {
        guard let data = FileManager.default.contents(atPath: folder + "/prepared.json") else { return nil }
        return try? JSONValue(parsing: [UInt8](data))
    }()

    /// Whether the servers can be started.
    static var isPrepared: Bool { prepared != nil }
    /// Whether there is a browser, too.
    static var hasBrowser: Bool { prepared?["browser"]?.string != nil }
    /// The launcher of a headless browser in which the user signs in.
    static var browser: BrowserLauncher {
        let words = [script, "browser", folder].map { word in
            word.parts(between: "%", keepsEmpty: true).joined(separator: "%%")
                .parts(between: ":", keepsEmpty: true).joined(separator: "%c")
        }
        return BrowserLauncher(programs: words.joined(separator: " "))
    }

    let kind: Kind
    private let process: BoundChildProcess
    private let facts: JSONValue
    /// Held while a command and its answer are exchanged.
    private let conversation = Mutex(())

    private init(_ process: BoundChildProcess, _ kind: Kind, _ facts: JSONValue) {
        self.process = process
        self.kind = kind
        self.facts = facts
    }

    /// Starts a server, passes it to `body`, and ends it.
    static func with<Result>(
        _ kind: Kind, _ options: Options = Options(), _ body: (RealServer) async throws -> Result
    ) async throws -> Result {
        let words =
            [
                script, "start", folder, kind.rawValue, "--life", String(options.life), "--grace",
                String(options.grace),
            ] + (options.hasFaults ? ["--faults"] : [])
        let server = try await BlockingExecutor.run { _ throws(CofferError) in
            let process = try BoundChildProcess.start(words.map { Array($0.utf8) }, readsOutput: true)
            let facts = try JSONValue(parsing: try RealServer.line(of: process))
            return RealServer(process, kind, facts)
        }
        defer { server.end() }
        return try await body(server)
    }

    private func end() {
        try? process.write(Array("{\"do\":\"end\"}\n".utf8).span)
        // It takes its files away.
        _ = process.ended(within: 20)
    }

    /// Returns the next line that the program prints, and kills the program if none comes in time.
    private static func line(of process: BoundChildProcess) throws(CofferError) -> [UInt8] {
        let watchdog = Task {
            try? await Task.sleep(for: .seconds(60))
            if !Task.isCancelled { process.end() }
        }
        defer { watchdog.cancel() }
        var line: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while line.last != UInt8(ascii: "\n") {
            var span = piece.mutableSpan
            guard let count = try process.read(into: &span) else {
                throw CofferError(
                    .unsupported, "The server has ended. Run Scripts/oauth-servers check to see why.")
            }
            line += piece[..<count]
        }
        return line
    }

    @discardableResult
    private func send(_ command: JSONValue) async throws(CofferError) -> JSONValue {
        let text = try command.jsonText()
        let answer = try await BlockingExecutor.run { [self] _ throws(CofferError) in
            let line = try conversation.withLock { _ throws(CofferError) in
                try process.write(Array((text + "\n").utf8).span)
                return try Self.line(of: process)
            }
            return try JSONValue(parsing: line)
        }
        if let problem = answer["error"]?.string { throw CofferError(.inputOutput, problem) }
        return answer
    }
}

extension RealServer {
    // MARK: Facts

    var issuer: String { facts["issuer"]?.string ?? "" }
    var scopes: [String] { (facts["scope"]?.string ?? "").parts(between: " ") }
    var userName: String { facts["user"]?["name"]?.string ?? "" }

    /// The URL of an endpoint, also of those that the server does not announce.
    func url(_ endpoint: ServerEndpoint) -> String? { facts["endpoints"]?[endpoint.rawValue]?.string }

    /// The URL that an access token opens.
    func resource() throws(CofferError) -> HTTPSURL { try HTTPSURL(facts["resource"]?.string ?? "") }

    /// The port of the redirect, where the server compares it.
    func redirectPort() -> UInt16? {
        guard kind == .glewlwyd, let redirect = facts["redirects"]?[0]?.string else { return nil }
        let digits = redirect.utf8.dropFirst("http://127.0.0.1:".utf8.count).prefix { $0 != 0x2F }
        return UInt16(String(decoding: digits, as: UTF8.self))
    }

    /// The registered clients.
    var clients: [Client] {
        let all = facts["clients"]?.object ?? [:]
        return all.keys.sorted().map { name in
            Client(
                name: name, authentication: all[name]?["authentication"]?.string ?? "",
                secret: all[name]?["secret"]?.string)
        }
    }

    /// The text of a file that the facts name: `ca`, `certificate` or `key`.
    func file(_ name: String) throws -> String {
        try String(contentsOfFile: facts[name]?.string ?? "", encoding: .utf8)
    }

    // MARK: The user and the faults

    /// Signs the user in without a browser, and returns the redirect.
    func signIn(at url: HTTPSURL) async throws(CofferError) -> String {
        try await send(["do": "sign-in", "url": .string(url.text)])["location"]?.string ?? ""
    }

    /// Allows a device, as the user does who enters the code.
    func allowDevice(_ code: String) async throws(CofferError) {
        try await send(["do": "allow-device", "code": .string(code)])
    }

    /// Sets a fault for the next request for tokens.
    func fault(_ kind: String, bytes: Int64 = 0) async throws {
        let path = try HTTPSURL(url(.token) ?? "").path
        try await send([
            "do": "fault", "kind": .string(kind), "path": .string(path), "bytes": .integer(bytes),
        ])
    }

    /// Returns the requests for tokens so far.
    func tokenRequests() async throws -> [Request] {
        let path = try HTTPSURL(url(.token) ?? "").path
        let entries = try await send(["do": "log"])["requests"]?.array ?? []
        return entries.map { entry in
            Request(
                path: entry["path"]?.string ?? "", grant: entry["grant"]?.string,
                status: entry["status"]?.integer, error: entry["error"]?.string,
                fault: entry["fault"]?.string, refreshToken: entry["refreshToken"]?.string)
        }.filter { $0.path.hasSameBytes(as: path) }
    }

    /// Returns the requests with a refresh token so far.
    func renewals() async throws -> [Request] {
        try await tokenRequests().filter { $0.grant == "refresh_token" }
    }

    // MARK: Requests beside the library's own

    /// Posts a form, as another client would.
    func post(
        _ endpoint: ServerEndpoint, _ fields: [(name: String, value: String)], as client: Client? = nil
    ) async throws -> HTTPResponse {
        var headers = [try HTTPField(name: "Content-Type", value: "application/x-www-form-urlencoded")]
        if let client {
            let pair = Data("\(client.name):\(client.secret ?? "")".utf8).base64EncodedString()
            headers.append(try HTTPField(name: "Authorization", value: "Basic " + pair))
        }
        let target = try HTTPSURL(url(endpoint) ?? "")
        let security = TransportSecurity(trust: .certificates(Array(try file("ca").utf8)))
        let request = HTTPRequest(
            method: .post, url: target, headers: headers,
            body: try SecretBytes.copying(FormEncoding.encode(fields)), security: security)
        return try await CurlTransport().exchange(request)
    }
}
