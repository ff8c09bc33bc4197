import Coffer
public import CofferBase
import CofferDBus
import CofferEngine
import Synchronization
import SystemPackage

/// A Secret Service that a test controls, on a private message bus, for CI machines without a desktop.
///
/// The service implements the protocol of the real services, so libsecret and `secret-tool` can use it. The
/// service also reproduces rare failures: a prompt that the user dismisses or never answers, a service that
/// hangs or crashes during a call, and an item that suddenly exists twice. The service does not protect its
/// items.
///
/// ```swift
/// try await FakeSecretService.with { service in
///     try await TemporaryVault.with(service: service) { vault in … }
/// }
/// ```
///
/// The service requires the programs `dbus-daemon` and `python3`, with the Python modules `dbus` and `gi`. On
/// Debian, these are in the packages dbus, python3-dbus and python3-gi. Both programs end when this process
/// ends, even if the process crashes.
public final class FakeSecretService: Sendable {
    /// The outcome of a prompt to the user.
    public enum PromptAnswer: String, Sendable {
        /// The user agrees.
        case completed
        /// The user closes the prompt.
        case dismissed
        /// The user never answers.
        case never
        /// There is no prompt: a locked item or collection is unlocked immediately.
        case none
    }

    /// The methods in which a fault can be injected.
    public enum Method: String, Sendable, CaseIterable {
        /// The method that opens a session.
        case openSession = "OpenSession"
        /// The method that searches for items by their attributes.
        case searchItems = "SearchItems"
        /// The method that unlocks items or collections.
        case unlock = "Unlock"
        /// The method that looks up the collection for new items.
        case readAlias = "ReadAlias"
        /// The method that reads one secret.
        case getSecret = "GetSecret"
        /// The method that reads several secrets.
        case getSecrets = "GetSecrets"
        /// The method that replaces a secret.
        case setSecret = "SetSecret"
        /// The method that creates an item.
        case createItem = "CreateItem"
        /// The method that deletes an item.
        case delete = "Delete"
    }

    /// The moment in a call at which a fault occurs.
    public enum Moment: String, Sendable, CaseIterable {
        /// The fault occurs before the call has any effect.
        case before
        /// The fault occurs after the call has taken effect but before the reply is sent.
        case after
    }

    /// A fault to inject.
    public enum Fault: Sendable {
        /// The service hangs until you call ``FakeSecretService/resume()``.
        case hangs
        /// The service is killed; ``FakeSecretService/restart()`` starts a new one.
        case crashes
        /// The call fails with a D-Bus error of this name.
        case fails(String)
    }

    private static let name = "org.coffer.FakeSecretService"
    /// The maximum time for the programs to start and to execute a command.
    private static let timeout = Duration.seconds(60)

    /// The address of the bus. Pass the address to a `VaultLocation`, or to a program in the environment
    /// variable `DBUS_SESSION_BUS_ADDRESS`.
    public let address: String
    private let python: String
    private let directory: FilePath
    private let bus: BoundChildProcess
    private let service: Mutex<BoundChildProcess?>

    private init(directory: FilePath, python: String) throws(CofferError) {
        self.directory = directory
        self.python = python
        address = "unix:path=\(directory.appending("bus").string)"
        bus = try Self.start("bus", directory, python)
        service = Mutex(try Self.start("service", directory, python))
    }

    private static func start(
        _ part: String, _ directory: FilePath, _ python: String
    ) throws(CofferError) -> BoundChildProcess {
        let script = directory.appending("service.py").string
        let words = [python, script, part, directory.string]
        return try BoundChildProcess.start(words.map { Array($0.utf8) })
    }

    /// Returns whether a service can be started, which requires that this build supports the Secret Service
    /// and that the required programs are installed.
    ///
    /// - Parameter python: The Python interpreter that runs the service.
    /// - Returns: `true` if a service can be started; otherwise `false`.
    public static func isPossible(python: String = "/usr/bin/python3") async -> Bool {
        guard BusListener.isBuilt else { return false }
        let check = "import dbus, gi, shutil, sys; sys.exit(shutil.which('dbus-daemon') is None)"
        let words = [python, "-c", check].map { Array($0.utf8) }
        let code = try? await BlockingExecutor.run { _ throws(CofferError) in
            try ChildProcess.run(words, outputToErrors: true)
        }
        return code == 0
    }

    /// Starts a bus and a service, passes the service to `body`, and ends the bus and the service, even if
    /// `body` throws.
    ///
    /// - Parameters:
    ///   - python: The Python interpreter that runs the service.
    ///   - body: The test, which receives the running service.
    /// - Returns: The result of `body`.
    /// - Throws: `unsupported` if a required program is missing; `timedOut` if the service does not respond
    ///   in time; any error that `body` throws.
    public static func with<Result>(
        python: String = "/usr/bin/python3", _ body: (FakeSecretService) async throws -> Result
    ) async throws -> Result {
        let parent = FilePath(Environment.value("TMPDIR") ?? "/tmp")
        let name = FilePath("coffer-service" + (try Descriptor.temporaryName().string))
        let folder = try Descriptor.open(parent, [.read, .directory])
        try folder.makeDirectory(name)
        defer { try? folder.removeTree(name) }
        let directory = try folder.open(name, [.read, .directory])
        let script = PackageResources.fake_secret_service_py
        try directory.replace("service.py", with: script.span)
        let service = try FakeSecretService(directory: parent.pushing(name), python: python)
        defer { service.end() }
        try await service.started()
        return try await body(service)
    }

    private func end() {
        service.withLock { $0 = nil }
        bus.end()
    }

    // MARK: The service process

    /// Suspends the service with a signal, so calls to the service hang.
    public func stop() { service.withLock { $0?.stop() } }

    /// Resumes a suspended service.
    public func resume() { service.withLock { $0?.resume() } }

    /// Kills the service if it is still running and starts another one with the same items.
    ///
    /// - Throws: `unsupported` if the service fails to start; `timedOut` if the service does not respond in
    ///   time.
    public func restart() async throws(CofferError) {
        service.withLock { $0?.end() }
        let next = try Self.start("service", directory, python)
        service.withLock { $0 = next }
        try await started()
    }

    /// Waits until the service answers.
    private func started() async throws(CofferError) {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            let end = Clock.sinceBoot + Self.timeout
            while true {
                guard service.withLock({ $0?.isRunning ?? false }), bus.isRunning else {
                    throw CofferError(
                        .unsupported,
                        "The Secret Service for tests failed to start. It requires dbus-daemon, python3-dbus "
                            + "and python3-gi.")
                }
                do throws(CofferError) {
                    _ = try ask("count", until: end)
                    return
                } catch {
                    guard Clock.sinceBoot < end else { throw error }
                    Clock.sleep(for: .milliseconds(10))
                }
            }
        }
    }

    // MARK: Control

    /// Locks the collection, as a user would, or unlocks the collection if `isLocked` is `false`.
    ///
    /// - Throws: `timedOut` if the service hangs.
    public func lock(_ isLocked: Bool = true) async throws(CofferError) {
        try await send(isLocked ? "lock" : "unlock")
    }

    /// Sets the outcome of prompts to the user from now on.
    ///
    /// - Throws: `timedOut` if the service hangs.
    public func answerPrompts(_ answer: PromptAnswer) async throws(CofferError) {
        try await send("answer \(answer.rawValue)")
    }

    /// Sets whether the service prompts the user before it creates or deletes an item, as some services do.
    ///
    /// - Throws: `timedOut` if the service hangs.
    public func askBeforeChanges(_ asks: Bool = true) async throws(CofferError) {
        for method in [Method.createItem, .delete] {
            try await send("asks \(method.rawValue) \(asks ? "yes" : "no")")
        }
    }

    /// Restores the default collection if `exists` is `true`; otherwise removes it.
    ///
    /// - Throws: `timedOut` if the service hangs.
    public func setDefaultCollection(_ exists: Bool) async throws(CofferError) {
        try await send("default \(exists ? "yes" : "no")")
    }

    /// Injects a fault into one call of a method: the next call or a later one.
    ///
    /// - Parameters:
    ///   - method: The method in which the fault occurs.
    ///   - moment: The moment in the call at which the fault occurs.
    ///   - fault: The fault to inject.
    ///   - calls: The number of calls to the method without a fault before the fault occurs.
    /// - Throws: `timedOut` if the service hangs.
    public func injectFault(
        _ method: Method, _ moment: Moment, _ fault: Fault, afterCalls calls: Int = 0
    ) async throws(CofferError) {
        let word =
            switch fault {
            case .hangs: "stop"
            case .crashes: "die"
            case .fails(let name): name
            }
        try await send("on \(method.rawValue) \(moment.rawValue) \(word) \(calls)")
    }

    /// Returns the number of items in the service.
    ///
    /// - Throws: `timedOut` if the service hangs.
    public func itemCount() async throws(CofferError) -> Int { try await send("count") }

    /// Returns the number of prompts shown so far.
    ///
    /// - Throws: `timedOut` if the service hangs.
    public func promptCount() async throws(CofferError) -> Int { try await send("prompts") }

    /// Adds a duplicate of each item, as another program could.
    ///
    /// - Throws: `timedOut` if the service hangs.
    public func duplicateItems() async throws(CofferError) { try await send("copy") }

    /// Removes every item, as another program could.
    ///
    /// - Throws: `timedOut` if the service hangs.
    public func removeItems() async throws(CofferError) { try await send("clear") }

    @discardableResult
    private func send(_ command: String) async throws(CofferError) -> Int {
        try await BlockingExecutor.run { [self] _ throws(CofferError) in
            try ask(command, until: Clock.sinceBoot + Self.timeout)
        }
    }

    private func ask(_ command: String, until end: Duration) throws(CofferError) -> Int {
        let bus = try MessageBus.connect(address, deadline: end - Clock.sinceBoot)
        let reply = try bus.call(
            BusMember(Self.name, "/", Self.name, "Tell"), [.text(command)], deadline: end - Clock.sinceBoot)
        return reply.first?.text.flatMap { Int($0) } ?? 0
    }
}
