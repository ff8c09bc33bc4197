package import Coffer
package import CofferBase
import CofferDBus
import CofferEngine

/// The Secret Service on a bus: it owns the name, and hands each call to a ``ServiceHost``.
package enum SecretServiceServer {
    private enum Event: Sendable {
        case notice(BusNotice)
        case tick
    }

    /// The time limit for each of the bus's answers.
    private static let deadline = Duration.seconds(10)
    /// The pause between two looks at the vault, the bus and the prompts.
    private static let pause = Duration.milliseconds(250)

    /// Serves a vault's tokens until the name, the bus or the vault is gone, or until the task is cancelled.
    ///
    /// - Parameters:
    ///   - vault: The vault, locked or unlocked.
    ///   - address: The address of the bus.
    ///   - isReplacing: Whether a present owner of the name that allows it is replaced.
    ///   - interaction: How a locked vault is unlocked for a caller.
    ///   - tell: A closure that is called with sentences for the user.
    ///   - onReady: A closure that is called once when the service owns its name.
    /// - Throws: `alreadyExists` if another program owns the name; `conflict` when another program takes the
    ///   name; `interrupted` when the bus ends; `wiped` when the vault is wiped; `refused` if the vault's own
    ///   tokens are in a Secret Service; the errors of connecting to the bus.
    package static func run(
        _ vault: Vault, address: String, replacing isReplacing: Bool, interaction: ServiceHost.Interaction,
        tell: @escaping @Sendable (String) -> Void, onReady: @Sendable () -> Void
    ) async throws(CofferError) {
        guard try vault.tokenBackend == .file else {
            throw CofferError(
                .refused,
                "This vault keeps its tokens in the Secret Service of the desktop, which a second Secret "
                    + "Service cannot serve.")
        }
        let bus = try MessageBus.connect(address, deadline: deadline)
        let host = try ServiceHost(vault, bus: bus, interaction: interaction, tell: tell)
        try await host.start()
        let (events, feed) = AsyncStream<Event>.makeStream()
        try bus.serve(deadline: deadline) { feed.yield(.notice($0)) }
        guard try bus.request(ServiceName.bus, replacing: isReplacing, deadline: deadline) == .owned else {
            throw CofferError(.alreadyExists, takenText(on: bus))
        }
        BackgroundTask.repeating {
            if case .terminated = feed.yield(.tick) { return nil }
            return pause
        }
        onReady()
        let end: Result<Void, CofferError>
        do throws(CofferError) {
            end = .success(try await follow(events, host, bus))
        } catch {
            end = .failure(error)
        }
        feed.finish()
        await host.finish()
        bus.flush(deadline: .seconds(2))
        try end.get()
    }

    /// Handles events until the task is cancelled.
    private static func follow(
        _ events: AsyncStream<Event>, _ host: ServiceHost, _ bus: MessageBus
    ) async throws(CofferError) {
        for await event in events {
            switch event {
            case .notice(.call(let call)): await host.handle(call)
            case .notice(.left(let name)): await host.forget(name)
            case .notice(.nameLost(let name)):
                guard name.hasSameBytes(as: ServiceName.bus) else { continue }
                throw CofferError(.conflict, takenText(on: bus))
            case .tick: await host.tick()
            }
            if await host.isWiped { throw CofferError.wiped }
            if bus.isClosed {
                throw CofferError(.interrupted, "The message bus has ended, and the Secret Service with it.")
            }
        }
    }

    /// Returns the sentence that names the program that owns the name.
    private static func takenText(on bus: MessageBus) -> String {
        let process = try? bus.callBus(
            "GetConnectionUnixProcessID", [.text(ServiceName.bus)], deadline: deadline)
        let owner = process?.number.map { " (process \($0))" } ?? ""
        return "Another program\(owner) is the Secret Service on this bus."
    }
}
