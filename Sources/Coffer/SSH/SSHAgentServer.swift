package import CofferBase
package import CofferEngine
import Synchronization

/// The server of an SSH agent on a Unix-domain socket.
///
/// It serves up to 64 connections of this user's programs. If there are more, the one that has been idle for
/// the longest time is closed. A connection may be idle for as long as it likes, but a message that has begun
/// must end within ten seconds, and so must an answer.
package final class SSHAgentServer: Sendable {
    /// A closure that returns the answer to a request of one connection.
    package typealias Responder = @Sendable (SSHAgentRequest, SSHAgentSession) async -> [UInt8]

    /// The maximum number of connections.
    package static let maxConnectionCount = 64
    private static let messageDeadline = Duration.seconds(10)

    private let socket: LocalSocket
    private let respond: Responder
    private let connections = Mutex<[Int: Connection]>([:])
    private let isEnding = Atomic(false)

    private struct Connection {
        let connection: LocalConnection
        /// Since when the connection waits for a message; `nil` during one.
        var idleSince: Duration?
    }

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - socket: The listening socket.
    ///   - respond: A closure that answers requests.
    package init(socket: LocalSocket, respond: @escaping Responder) {
        self.socket = socket
        self.respond = respond
    }

    /// Makes ``run(endingWithSignals:tick:)`` return, at the latest after one second.
    package func stop() {
        isEnding.store(true, ordering: .sequentiallyConsistent)
        socket.shutDown()
    }

    /// Serves connections until ``stop()`` is called.
    ///
    /// - Parameters:
    ///   - endingWithSignals: Whether a signal that the process holds also ends the work.
    ///   - tick: A closure that is called about once a second.
    /// - Throws: `inputOutput` if the socket fails.
    package func run(
        endingWithSignals: Bool, tick: @Sendable () -> Void
    ) async throws(CofferError) {
        var failure: CofferError?
        await withDiscardingTaskGroup { group in
            var number = 0
            while !isEnding.load(ordering: .relaxed),
                !(endingWithSignals && TerminationSignals.received != nil)
            {
                do throws(CofferError) {
                    let accepted = try await next()
                    if let accepted {
                        number += 1
                        let id = number
                        if admit(accepted, id) { group.addTask { [self] in await serve(accepted, id) } }
                    }
                } catch {
                    // A socket that was shut down accepts nothing.
                    if !isEnding.load(ordering: .sequentiallyConsistent) { failure = error }
                    break
                }
                tick()
            }
            for connection in connections.withLock({ $0.values.map(\.connection) }) { connection.shutDown() }
        }
        socket.removeFile()
        if let failure { throw failure }
    }

    private func next() async throws(CofferError) -> LocalConnection? {
        let socket = socket
        return try await BlockingExecutor.run { _ throws(CofferError) -> LocalConnection? in
            guard try socket.wait(milliseconds: 1000) else { return nil }
            if let accepted = try socket.accept() { return accepted }
            // A shortage of descriptors or memory leaves the connection waiting: do not ask without a pause.
            Clock.sleep(for: .milliseconds(20))
            return nil
        }
    }

    /// Returns whether to serve a connection, and makes room for it.
    private func admit(_ accepted: LocalConnection, _ id: Int) -> Bool {
        guard accepted.isOfThisUser else { return false }
        let idle = connections.withLock { connections -> (isAdmitted: Bool, idle: LocalConnection?) in
            var idle: LocalConnection?
            if connections.count >= Self.maxConnectionCount {
                let waiting = connections.compactMap { id, one in one.idleSince.map { (id: id, since: $0) } }
                guard let oldest = waiting.min(by: { $0.since < $1.since }) else { return (false, nil) }
                idle = connections.removeValue(forKey: oldest.id)?.connection
            }
            connections[id] = Connection(connection: accepted, idleSince: Clock.sinceBoot)
            return (true, idle)
        }
        idle.idle?.shutDown()
        return idle.isAdmitted
    }

    private func mark(_ id: Int, idle: Bool) {
        connections.withLock { $0[id]?.idleSince = idle ? Clock.sinceBoot : nil }
    }

    // MARK: One connection

    private func serve(_ connection: LocalConnection, _ id: Int) async {
        let session = SSHAgentSession()
        while let request = await receive(connection, id) {
            let answer = await respond(request, session)
            guard await send(answer, to: connection) else { break }
            mark(id, idle: true)
        }
        connection.shutDown()
        connections.withLock { $0[id] = nil }
    }

    /// Returns the next request; `nil` if the connection has ended or the client is not one of an agent.
    private func receive(_ connection: LocalConnection, _ id: Int) async -> SSHAgentRequest? {
        do throws(CofferError) {
            return try await BlockingExecutor.run { [self] _ throws(CofferError) -> SSHAgentRequest? in
                guard try connection.waitForInput(until: nil) else { return nil }
                mark(id, idle: false)
                return try SSHAgentWire.read(connection, until: Clock.sinceBoot + Self.messageDeadline)
            }
        } catch {
            return nil
        }
    }

    private func send(_ answer: [UInt8], to connection: LocalConnection) async -> Bool {
        do throws(CofferError) {
            return try await BlockingExecutor.run { _ throws(CofferError) in
                try SSHAgentWire.write(answer, to: connection, until: Clock.sinceBoot + Self.messageDeadline)
            }
        } catch {
            return false
        }
    }
}
