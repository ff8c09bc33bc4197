import Coffer
public import CofferBase
import CofferEngine
import Synchronization

/// A listener on this machine's loopback address, to which the browser brings the server's answer (RFC 8252
/// section 7.3).
///
/// The listener can be reached only from this machine, but by every program on it and by every page in the
/// browser. It therefore answers only `GET` requests for the registered path whose `Host` header is its own
/// address, and it accepts only an answer with the request's `state`, from a program of this process's user
/// or of root. Everything else is refused, and the listener stays. Where /proc does not say whose program it
/// is, any user's is accepted. Each listener serves one sign-in.
public final class LoopbackListener: Sendable {
    /// The path of the redirect URI, unless the profile has another.
    public static let defaultPath = "/callback"

    private let place: RedirectPlace
    private let limits: RedirectServer.Limits
    private let socket: Mutex<LoopbackSocket?>

    /// The redirect URI, with the port on which the listener listens.
    public var redirectURI: String { place.uri }

    /// The port on which the listener listens.
    package let port: UInt16

    private init(
        _ socket: consuming LoopbackSocket, _ place: RedirectPlace, _ limits: RedirectServer.Limits
    ) {
        port = socket.port
        self.place = place
        self.limits = limits
        self.socket = Mutex(socket)
    }

    /// Starts listening. Connections wait until ``redirect(for:)`` is called.
    ///
    /// - Parameters:
    ///   - path: The path of the redirect URI, which should be different for each profile.
    ///   - port: The registered port, or 0 for any free port.
    ///   - usesIPv6: Whether to listen on ::1 instead of 127.0.0.1.
    /// - Returns: The listener.
    /// - Throws: `busy` if another program listens on the port; `invalidInput` if the path is invalid;
    ///   `permissionDenied` if the port is reserved; `unsupported` if this machine does not have the address.
    public static func start(
        path: String = defaultPath, port: UInt16 = 0, usesIPv6: Bool = false
    ) throws(CofferError) -> LoopbackListener {
        try start(path: path, port: port, address: usesIPv6 ? .ipv6 : .ipv4, limits: .init())
    }

    static func start(
        path: String, port: UInt16, address: LoopbackAddress, limits: RedirectServer.Limits
    ) throws(CofferError) -> LoopbackListener {
        try RedirectRule.check(path: path)
        let socket = try socket(on: address, port: port)
        let place = try RedirectPlace(address: address, port: socket.port, path: path)
        return LoopbackListener(socket, place, limits)
    }

    /// Listens on a port. If another program does, the error says how to sign in without it.
    private static func socket(
        on address: LoopbackAddress, port: UInt16
    ) throws(CofferError) -> LoopbackSocket {
        do throws(CofferError) {
            return try LoopbackSocket.listening(on: address, port: port)
        } catch {
            guard error.code == .busy else { throw error }
            throw CofferError(
                error.code, error.message, remedy: .signInElsewhere, systemError: error.systemError)
        }
    }

    /// Waits until the browser brings the answer to a request. The listener is closed when the method
    /// returns. The work is done on a thread of its own.
    ///
    /// - Parameter request: The request, whose redirect URI must be ``redirectURI``.
    /// - Returns: The answer, whose `state` and issuer have been checked.
    /// - Throws: `timedOut` at the end of the request's time; `cancelled`; `redirectRefused` or
    ///   `issuerMismatch` if the answer to this request is invalid; `invalidInput` if the listener has served
    ///   a request already or the redirect URI is another.
    public func redirect(for request: AuthorizationRequest) async throws(CofferError) -> AuthorizationRedirect
    {
        try await redirect(for: request, within: AuthorizationRequest.lifetime)
    }

    func redirect(
        for request: AuthorizationRequest, within limit: Duration
    ) async throws(CofferError) -> AuthorizationRedirect {
        guard request.contents.redirectURI.hasSameBytes(as: redirectURI) else {
            throw CofferError(.invalidInput, "The request has another redirect URI than the listener.")
        }
        return try await BlockingExecutor.run { (cancellation) throws(CofferError) in
            try self.serve(request, within: limit) { cancellation.isCancelled }
        }
    }

    private func serve(
        _ request: AuthorizationRequest, within limit: Duration, isCancelled: () -> Bool
    ) throws(CofferError) -> AuthorizationRedirect {
        guard let listening = socket.withLock({ $0.take() }) else {
            throw CofferError(.invalidInput, "The listener has been closed or has served a request already.")
        }
        let now = Clock.sinceBoot
        try request.checkTime(now: now)
        var server = RedirectServer(listening, place, request, limits)
        return try server.run(until: now + min(limit, request.timeLeft(now: now)), isCancelled: isCancelled)
    }

    /// Stops listening, if the listener is not serving a request. Cancel the waiting task to stop it then.
    public func close() {
        _ = socket.withLock { $0.take() }
    }
}
