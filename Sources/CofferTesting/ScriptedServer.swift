import Coffer
public import CofferBase
import CofferCrypto
import CofferEngine
public import CofferOAuth
import Synchronization
import SystemPackage

/// An HTTPS server on this machine that gives the answers of a test, among them faults that real servers show
/// rarely, and that records every request.
///
/// ```swift
/// try await ScriptedServer.with { server in
///     try await server.answer("/token", .json("{\"access_token\":\"…\",\"token_type\":\"Bearer\"}"))
///     let request = HTTPRequest(method: .post, url: try server.url("/token"), security: server.security)
///     let response = try await CurlTransport().exchange(request)
/// }
/// ```
///
/// The server requires the programs `python3` and `openssl`. It ends when this process ends, even if the
/// process crashes. Its certificates are valid for two days and are of an authority that exists only for one
/// server.
public final class ScriptedServer: Sendable {
    /// The certificate that the server shows. Each has a port of its own.
    public enum Certificate: String, Sendable, CaseIterable {
        /// A certificate that ``ScriptedServer/security`` accepts.
        case valid
        /// A certificate for another host.
        case otherHost
        /// A certificate that has expired.
        case expired
        /// A certificate that is not valid yet.
        case early
        /// A certificate that its own key signed.
        case selfSigned
        /// A certificate that names the authority of ``ScriptedServer/security``, which did not sign it.
        case forged
        /// A certificate of an authority that ``ScriptedServer/security`` does not trust.
        case stranger
    }

    /// A request that the server has read.
    public struct Request: Sendable {
        /// The method.
        public let method: String
        /// The path and the query.
        public let target: String
        /// The fields in the order of arrival.
        public let fields: [(name: String, value: String)]
        /// The body.
        public let body: [UInt8]
        /// The name in the client's certificate; `nil` if it showed none.
        public let clientName: String?
        /// The version of TLS, such as `TLSv1.3`.
        public let tlsVersion: String

        /// Returns the values of the fields with this name.
        ///
        /// - Parameter name: The name, in any case.
        /// - Returns: The values in the order of arrival.
        public func values(of name: String) -> [String] {
            fields.filter { $0.name.foldedASCII.hasSameBytes(as: name.foldedASCII) }.map(\.value)
        }
    }

    private let process: BoundChildProcess
    private let directory: FilePath
    private let ports: [String: UInt16]
    /// Held while a command and its answer are exchanged.
    private let conversation = Mutex(())

    /// The SHA-256 hash of the server's public key, as `TransportSecurity.pins` takes it.
    public let pin: [UInt8]
    /// The rules for connections that trust this server's authority and no other.
    public let security: TransportSecurity

    private init(_ process: BoundChildProcess, directory: FilePath) throws(CofferError) {
        let first = try JSONValue(parsing: try Self.line(of: process))
        var ports: [String: UInt16] = [:]
        for (name, port) in first["ports"]?.object ?? [:] {
            ports[name] = port.integer.flatMap { UInt16(exactly: $0) }
        }
        let digits = first["pin"]?.string ?? ""
        let decoded = try Encoding.decodeHex(Array(digits.utf8).span)
        let folder = try Descriptor.open(directory, [.read, .directory])
        let authority = try folder.open("ca.pem", .read).readAll(limit: 1 << 16)
        self.process = process
        self.directory = directory
        self.ports = ports
        pin = decoded.span.copied()
        security = TransportSecurity(trust: .certificates(authority))
    }

    /// Returns whether a server can be started, which requires that the programs are installed.
    ///
    /// - Parameter python: The Python interpreter that runs the server.
    /// - Returns: `true` if a server can be started; otherwise `false`.
    public static func isPossible(python: String = "/usr/bin/python3") async -> Bool {
        let check = "import shutil, ssl, sys; sys.exit(shutil.which('openssl') is None)"
        let words = [python, "-c", check].map { Array($0.utf8) }
        let code = try? await BlockingExecutor.run { _ throws(CofferError) in
            try ChildProcess.run(words, outputToErrors: true)
        }
        return code == 0
    }

    /// Starts a server, passes it to `body`, and ends it, even if `body` throws.
    ///
    /// - Parameters:
    ///   - python: The Python interpreter that runs the server.
    ///   - body: The test, which receives the running server.
    /// - Returns: The result of `body`.
    /// - Throws: `unsupported` if a required program is missing; any error that `body` throws.
    public static func with<Result>(
        python: String = "/usr/bin/python3", _ body: (ScriptedServer) async throws -> Result
    ) async throws -> Result {
        let parent = FilePath(Environment.value("TMPDIR") ?? "/tmp")
        let name = FilePath("coffer-server" + (try Descriptor.temporaryName().string))
        let folder = try Descriptor.open(parent, [.read, .directory])
        try folder.makeDirectory(name)
        defer { try? folder.removeTree(name) }
        let directory = try folder.open(name, [.read, .directory])
        let script = PackageResources.scripted_server_py
        try directory.replace("server.py", with: script.span)
        let path = parent.pushing(name)
        let server = try await BlockingExecutor.run { _ throws(CofferError) in
            let words = [python, path.appending("server.py").string, path.string]
            let process = try BoundChildProcess.start(words.map { Array($0.utf8) }, readsOutput: true)
            return try ScriptedServer(process, directory: path)
        }
        defer { server.process.end() }
        return try await body(server)
    }

    // MARK: Addresses and certificates

    /// The port of a proxy at 127.0.0.1, which leads to the server with the certificate
    /// ``Certificate/otherHost``, `other.example`, whatever host it is asked for. It requires no password,
    /// and its requests are recorded with the method `CONNECT`.
    public var proxyPort: UInt16 { ports["proxy"] ?? 0 }

    /// Returns the URL of a path.
    ///
    /// - Parameters:
    ///   - path: The path, which begins with a slash, and a query if required.
    ///   - certificate: The certificate that the server shows.
    /// - Returns: The URL, whose host is 127.0.0.1.
    /// - Throws: `invalidInput` if the path is not valid in a URL.
    public func url(_ path: String, certificate: Certificate = .valid) throws(CofferError) -> HTTPSURL {
        try HTTPSURL("https://127.0.0.1:\(ports[certificate.rawValue] ?? 0)\(path)")
    }

    /// Returns a client certificate that the server accepts, named `coffer client`.
    ///
    /// - Returns: The certificate and its key.
    /// - Throws: `inputOutput` if the server's files cannot be read.
    public func clientCertificate() throws(CofferError) -> TransportSecurity.ClientCertificate {
        try clientCertificate("client")
    }

    /// Returns a client certificate with an RSA key that the server accepts, named `coffer client-rsa`.
    ///
    /// - Returns: The certificate and its key.
    /// - Throws: `inputOutput` if the server has ended or its files cannot be read.
    public func rsaClientCertificate() async throws(CofferError) -> TransportSecurity.ClientCertificate {
        try await send(["do": "client"])
        return try clientCertificate("client-rsa")
    }

    private func clientCertificate(
        _ name: String
    ) throws(CofferError) -> TransportSecurity.ClientCertificate {
        let folder = try Descriptor.open(directory, [.read, .directory])
        return TransportSecurity.ClientCertificate(
            chain: try folder.open(FilePath(name + ".pem"), .read).readAll(limit: 1 << 16),
            key: try Self.secret(in: folder, name + ".key"))
    }

    /// Reads a file into guarded memory: tests search the rest of the memory for it.
    private static func secret(
        in folder: borrowing Descriptor, _ name: String
    ) throws(CofferError) -> SecretBytes {
        let file = try folder.open(FilePath(name), .read)
        var buffer = try GuardedBuffer.make(limit: 1 << 16)
        while try buffer.append({ (span) throws(CofferError) in try file.readSome(into: &span) }) {}
        return SecretBytes(try buffer.finish())
    }

    // MARK: Control

    /// Sets the answer to requests of a path. Until then, the answer is 404.
    ///
    /// - Parameters:
    ///   - path: The path without a query.
    ///   - answer: The answer.
    ///   - times: The number of requests to answer, after those of earlier answers for the path; `nil` to
    ///     answer every request until another answer is set.
    /// - Throws: `inputOutput` if the server has ended.
    public func answer(
        _ path: String, _ answer: ScriptedAnswer, times: Int? = nil
    ) async throws(CofferError) {
        try await send([
            "do": "answer", "path": .string(path), "times": .integer(Int64(times ?? 0)),
            "steps": try answer.script(),
        ])
    }

    /// Closes the next connections after the TLS handshake, before their requests are read.
    ///
    /// - Parameter count: The number of connections.
    /// - Throws: `inputOutput` if the server has ended.
    public func dropConnections(_ count: Int = 1) async throws(CofferError) {
        try await send(["do": "drop", "count": .integer(Int64(count))])
    }

    /// Returns the requests that the server has read so far.
    ///
    /// - Parameter path: The path of the requests, without a query; `nil` for all.
    /// - Returns: The requests in the order of arrival.
    /// - Throws: `inputOutput` if the server has ended.
    public func requests(_ path: String? = nil) async throws(CofferError) -> [Request] {
        let log = try await send(["do": "log"]).array ?? []
        var requests: [Request] = []
        for entry in log { requests.append(try Self.request(entry)) }
        guard let path else { return requests }
        return requests.filter { request in
            request.target.utf8.split(separator: UInt8(ascii: "?")).first?.elementsEqual(path.utf8) ?? false
        }
    }

    /// Forgets the requests so far.
    ///
    /// - Throws: `inputOutput` if the server has ended.
    public func forgetRequests() async throws(CofferError) { try await send(["do": "clear"]) }

    private static func request(_ entry: JSONValue) throws(CofferError) -> Request {
        let fields = (entry["fields"]?.array ?? []).map { field in
            (name: field[0]?.string ?? "", value: field[1]?.string ?? "")
        }
        return Request(
            method: entry["method"]?.string ?? "", target: entry["target"]?.string ?? "", fields: fields,
            body: try Encoding.decodeBase64Text(Array((entry["body"]?.string ?? "").utf8)),
            clientName: entry["client"]?.string, tlsVersion: entry["tls"]?.string ?? "")
    }

    @discardableResult
    private func send(_ command: JSONValue) async throws(CofferError) -> JSONValue {
        let text = try command.jsonText()
        return try await BlockingExecutor.run { [self] _ throws(CofferError) in
            let answer = try conversation.withLock { _ throws(CofferError) in
                try process.write(Array((text + "\n").utf8).span)
                return try Self.line(of: process)
            }
            return try JSONValue(parsing: answer)
        }
    }

    /// Returns the next line that the server prints.
    private static func line(of process: BoundChildProcess) throws(CofferError) -> [UInt8] {
        var line: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while line.last != UInt8(ascii: "\n") {
            var span = piece.mutableSpan
            guard let count = try process.read(into: &span) else {
                throw CofferError(
                    .unsupported, "The server for tests has ended. It requires python3 and openssl.")
            }
            line += piece[..<count]
        }
        return line
    }
}
