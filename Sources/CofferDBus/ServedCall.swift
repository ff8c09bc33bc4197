import Synchronization

/// A method call that a service received. The caller gets exactly one answer: a call that is released without
/// one is answered with an error.
package final class ServedCall: Sendable {
    /// An answer to a call.
    package enum Answer: Sendable {
        case values([BusContent])
        case error(name: String, text: String)
    }

    /// The caller's unique name on the bus.
    package let sender: String
    /// The path of the object that is called.
    package let path: String
    /// The interface; empty if the caller names none.
    package let interface: String
    /// The method.
    package let member: String
    /// The D-Bus types of the arguments, one after the other.
    package let signature: String
    /// The arguments.
    package let arguments: [BusContent]
    private let isAnswered = Atomic(false)
    private let reply: @Sendable (Answer) -> Void
    private let onRelease: @Sendable () -> Void

    /// Creates a call.
    ///
    /// - Parameters:
    ///   - sender: The caller's unique name.
    ///   - path: The object's path.
    ///   - interface: The interface.
    ///   - member: The method.
    ///   - arguments: The arguments.
    ///   - onRelease: A closure that is called when the call is released.
    ///   - reply: A closure that sends the answer.
    package init(
        sender: String, path: String, interface: String, member: String, arguments: [BusContent],
        onRelease: @escaping @Sendable () -> Void = {}, reply: @escaping @Sendable (Answer) -> Void
    ) {
        self.sender = sender
        self.path = path
        self.interface = interface
        self.member = member
        self.arguments = arguments
        signature = arguments.map(\.type).joined()
        self.onRelease = onRelease
        self.reply = reply
    }

    deinit {
        refuse("org.freedesktop.DBus.Error.Failed", "The call was not completed.")
        onRelease()
    }

    /// Answers with values. Does nothing if the call was already answered.
    package func answer(_ values: [BusContent] = []) { send(.values(values)) }

    /// Answers with an error. Does nothing if the call was already answered.
    package func refuse(_ name: String, _ text: String) { send(.error(name: name, text: text)) }

    private func send(_ answer: Answer) {
        guard !isAnswered.exchange(true, ordering: .sequentiallyConsistent) else { return }
        reply(answer)
    }
}
