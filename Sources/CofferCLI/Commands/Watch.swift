import ArgumentParser
import Coffer
import CofferBase

/// `coffer watch`
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Lock with the desktop: take back the keys that `unlock` lent when the screen locks.",
        discussion: """
            Listens to logind, the screen saver and the Secret Service until it is ended by a signal, and \
            prints a line for each lock. Needs no passcode. Says on standard error what is not there.
            """)

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let session = try await Opening.session(global)
        let events = session.events
        let statuses = await session.followLockSources()
        for status in statuses where !status.isListening {
            Output.message("coffer: \(status.source.rawValue): \(status.message)")
        }
        let desktop = statuses.filter { ![.idleTimer, .kernelKeyring].contains($0.source) }
        guard desktop.contains(where: \.isListening) else {
            throw CofferError(.unsupported, "Nothing on this host says when to lock.")
        }
        Output.message("coffer: listening.")
        for await event in events where event.kind != .unlocked {
            let reason = event.reason?.rawValue
            if global.json {
                try Output.json(
                    .object([
                        ("event", .text(event.kind.rawValue)), ("reason", reason.map { .text($0) } ?? .none),
                    ]))
            } else {
                try Output.line(event.kind.rawValue + (reason.map { " \($0)" } ?? ""))
            }
        }
    }
}
