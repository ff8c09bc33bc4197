import CofferBase

extension ResourceClient {
    /// Starts a session and reports the steps. The sequence ends after a step that starts the application or
    /// keeps it from starting.
    ///
    /// With a live access token, nothing is sent. If the token is due and the server cannot be reached, the
    /// application starts offline from its cached data, and cannot start without any.
    ///
    /// - Parameter hasCachedData: Whether the application has data with which it can start offline.
    /// - Returns: The steps.
    package func start(hasCachedData: Bool) -> AsyncStream<SessionStatus> {
        let (stream, continuation) = AsyncStream.makeStream(of: SessionStatus.self)
        let task = Task {
            await run(hasCachedData: hasCachedData) { continuation.yield($0) }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    private func run(hasCachedData: Bool, _ report: (SessionStatus) -> Void) async {
        do throws(CofferError) {
            if try await source.stored() == nil {
                report(SessionStatus(.authenticating, "The session is being renewed."))
                _ = try await source.current(minimumLife: .zero)
            }
            report(SessionStatus(.starting, "The session is ready."))
        } catch {
            switch error.code {
            case .serverUnreachable, .timedOut:
                let message = "The server cannot be reached."
                report(
                    hasCachedData
                        ? SessionStatus(.offline, message + " The application starts with its cached data.")
                        : SessionStatus(.offline, message + " There is no cached data.", isError: true))
            default:
                report(SessionStatus(.authenticating, error.message, isError: true))
            }
        }
    }
}
