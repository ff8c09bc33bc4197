import CofferBase
package import CofferDBus
import CofferEngine
import Foundation
import Glibc

/// A message bus of a test's own with a real gnome-keyring on it, in directories that go with it.
///
/// A shell owns both programs: it ends them when told to, when its owner goes, and when the test process
/// dies, since its standard input then closes. The environment is set before the bus starts, so that nothing
/// on it knows of the user's own session.
package final class PrivateKeyring {
    /// How the default collection is kept.
    package enum Collection: Sendable {
        /// Under a password that the test gives at each start.
        case encrypted
        /// Without one: a plain text file.
        case plainText
        /// There is no collection.
        case missing
    }

    /// The most time that `SearchItems` and similar calls take.
    private static let timeout = Duration.seconds(120)
    private static let service = "org.freedesktop.secrets"

    /// The address of the bus.
    package let address: String
    /// Where the keyring's files are.
    let files: URL
    private let folder: URL
    private let collection: Collection
    private let shell: Helper
    private var busProcess: Int32 = 0
    private var daemon: Int32 = 0

    /// Starts the bus and, unless told otherwise, the keyring on it; `nil` where they are not installed.
    package init?(_ collection: Collection = .encrypted, running: Bool = true) throws {
        folder = FileManager.default.temporaryDirectory.appending(
            path: "coffer-bus-\(UUID().uuidString.prefix(8))")
        files = folder.appending(path: "data/keyrings")
        self.collection = collection
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        for name in ["config", "runtime", "cache"] {
            try FileManager.default.createDirectory(
                at: folder.appending(path: name), withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700])
        }
        let path = folder.path(percentEncoded: false)
        address = "unix:path=\(path)/bus"
        try Data(Self.configuration(path).utf8).write(to: folder.appending(path: "bus.conf"))
        try Data("the password".utf8).write(to: folder.appending(path: "password"))
        if collection == .plainText {
            try Data(Self.plainText.utf8).write(to: files.appending(path: "login.keyring"))
        }
        let environment = [
            "-i", "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=\(path)", "XDG_DATA_HOME=\(path)/data",
            "XDG_CONFIG_HOME=\(path)/config", "XDG_RUNTIME_DIR=\(path)/runtime",
            "XDG_CACHE_HOME=\(path)/cache",
            "DBUS_SESSION_BUS_ADDRESS=\(address)",
        ]
        guard let shell = Helper(environment + ["sh", "-c", Self.script, path]) else {
            try? FileManager.default.removeItem(at: folder)
            return nil
        }
        self.shell = shell
        busProcess = Int32(shell.line() ?? "") ?? 0
        if running { try start() }
    }

    deinit {
        for process in [daemon, busProcess] where process > 0 { _ = Glibc.kill(process, SIGKILL) }
        shell.send("end")
        _ = shell.end()
        try? FileManager.default.removeItem(at: folder)
    }

    /// A connection to the bus, for looking at the service from outside.
    package func connect() throws -> MessageBus { try MessageBus.connect(address, deadline: Self.timeout) }

    // MARK: The daemon

    /// Starts the keyring and waits until it answers.
    package func start() throws {
        shell.send(collection == .encrypted ? "unlock" : "start")
        daemon = Int32(shell.line() ?? "") ?? 0
        let bus = try connect()
        let end = Clock.sinceBoot + Self.timeout
        while true {
            if let alias = try? bus.call(
                member("/org/freedesktop/secrets", "Service", "ReadAlias"), [.text("default")],
                deadline: Self.timeout
            ).first?.text, (alias == "/") == (collection == .missing) {
                return
            }
            guard Clock.sinceBoot < end else { throw CofferError(.timedOut, "The keyring does not start.") }
            Clock.sleep(for: .milliseconds(5))
        }
    }

    /// Ends the keyring at once, as a crash would, and waits until it is gone from the bus.
    package func kill() throws {
        _ = Glibc.kill(daemon, SIGKILL)
        daemon = 0
        let bus = try connect()
        let end = Clock.sinceBoot + Self.timeout
        while try bus.callBus("NameHasOwner", [.text(Self.service)], deadline: Self.timeout)?.flag == true {
            guard Clock.sinceBoot < end else { throw CofferError(.timedOut, "The keyring does not end.") }
            Clock.sleep(for: .milliseconds(2))
        }
    }

    /// Ends the keyring and starts it again.
    package func restart() throws {
        try kill()
        try start()
    }

    /// Starts a new plain-text collection with `count` items of others and nothing else in it. Made one by
    /// one, many would take long: the keyring rewrites its file for each.
    package func fill(_ count: Int) throws {
        try kill()
        var text = Self.plainText
        for number in 1...max(1, count) where count > 0 {
            text += """
                [\(number)]
                item-type=0
                display-name=Other \(number)
                secret=secret of \(number)
                mtime=1
                ctime=1

                [\(number):attribute0]
                name=number
                type=string
                value=\(number)


                """
        }
        try Data(text.utf8).write(to: files.appending(path: "login.keyring"))
        try start()
    }

    /// Stops the keyring where it is: it answers nothing until ``resume()``.
    package func stop() { _ = Glibc.kill(daemon, SIGSTOP) }

    /// Lets the keyring go on.
    package func resume() { _ = Glibc.kill(daemon, SIGCONT) }

    /// Ends the keyring while it is stopped in the middle of whatever it does.
    package func killStopped() { _ = Glibc.kill(daemon, SIGKILL) }

    /// Stops the bus itself, or lets it go on.
    package func stopBus(_ stopped: Bool = true) { _ = Glibc.kill(busProcess, stopped ? SIGSTOP : SIGCONT) }

    // MARK: What is in it

    /// Locks the collection, as a user would.
    package func lock() throws { _ = try call("", "Service", "Lock", [.paths([Self.collectionPath])]) }

    /// Makes an item as another program would; gives its path.
    @discardableResult
    package func add(_ attributes: [String: String], _ secret: [UInt8]) throws -> String {
        let bus = try connect()
        let session =
            try bus.call(
                member("/org/freedesktop/secrets", "Service", "OpenSession"),
                [.text("plain"), .variant(.text(""))], deadline: Self.timeout)[1].text ?? ""
        let made = try bus.call(
            member(Self.collectionPath, "Collection", "CreateItem"),
            [
                .properties([
                    "org.freedesktop.Secret.Item.Label": .text("Another"),
                    "org.freedesktop.Secret.Item.Attributes": .strings(attributes),
                ]),
                .structure([.path(session), .bytes([]), .bytes(secret), .text("text/plain")]), .flag(false),
            ], deadline: Self.timeout)
        return made.first?.text ?? ""
    }

    /// The secret of an item; `nil` when it is gone.
    package func secret(_ path: String) throws -> [UInt8]? {
        let bus = try connect()
        let session =
            try bus.call(
                member("/org/freedesktop/secrets", "Service", "OpenSession"),
                [.text("plain"), .variant(.text(""))], deadline: Self.timeout)[1].text ?? ""
        let reply = try? bus.call(
            member(path, "Item", "GetSecret"), [.path(session)], deadline: Self.timeout)
        return reply?.first?.structure?[2].bytes
    }

    /// Changes an item's secret, as another program would.
    package func replace(_ path: String, by secret: [UInt8]) throws {
        let bus = try connect()
        let session =
            try bus.call(
                member("/org/freedesktop/secrets", "Service", "OpenSession"),
                [.text("plain"), .variant(.text(""))], deadline: Self.timeout)[1].text ?? ""
        _ = try bus.call(
            member(path, "Item", "SetSecret"),
            [.structure([.path(session), .bytes([]), .bytes(secret), .text("text/plain")])],
            deadline: Self.timeout)
    }

    /// Removes an item, as another program would.
    package func remove(_ path: String) throws {
        _ = try connect().call(member(path, "Item", "Delete"), deadline: Self.timeout)
    }

    /// The paths of the items with these attributes.
    package func items(_ attributes: [String: String] = [:]) throws -> [String] {
        let found = try call("", "Service", "SearchItems", [.strings(attributes)])
        return ((found.first?.paths ?? []) + (found.last?.paths ?? [])).sorted()
    }

    /// An item's attributes.
    package func attributes(_ path: String) throws -> [String: String] {
        try connect().call(
            BusMember(Self.service, path, "org.freedesktop.DBus.Properties", "Get"),
            [.text("org.freedesktop.Secret.Item"), .text("Attributes")], deadline: Self.timeout
        ).first?.value?.strings ?? [:]
    }

    private static let collectionPath = "/org/freedesktop/secrets/collection/login"

    private func call(
        _ path: String, _ interface: String, _ method: String, _ arguments: [BusValue]
    ) throws -> [BusValue] {
        try connect().call(
            member(path.isEmpty ? "/org/freedesktop/secrets" : path, interface, method), arguments,
            deadline: Self.timeout)
    }

    private func member(_ path: String, _ interface: String, _ method: String) -> BusMember {
        BusMember(Self.service, path, "org.freedesktop.Secret." + interface, method)
    }

    // MARK: Programs

    /// One line for each answer: the number of the bus, then of each keyring that is started. Nothing here
    /// may wait for a child: a process that a test starts may have the signal for it blocked.
    private static let script = """
        command -v gnome-keyring-daemon >/dev/null || exit 1
        dbus-daemon --config-file="$0/bus.conf" --nofork --print-address=1 >"$0/address" 2>/dev/null &
        bus=$! daemon=
        trap 'kill -9 $daemon $bus 2>/dev/null' EXIT
        count=0
        while [ ! -s "$0/address" ]; do
            count=$((count + 1)); [ $count -lt 1000 ] || exit 1
            sleep 0.01
        done
        echo ready
        echo $bus
        while read -r command; do
            case $command in
            unlock)
                gnome-keyring-daemon --foreground --unlock --components=secrets \\
                    <"$0/password" >/dev/null 2>&1 &
                daemon=$!; echo $daemon ;;
            start)
                gnome-keyring-daemon --foreground --start --components=secrets \\
                    </dev/null >/dev/null 2>&1 &
                daemon=$!; echo $daemon ;;
            end) exit ;;
            esac
        done
        """

    /// A bus that starts nothing by itself.
    private static func configuration(_ path: String) -> String {
        """
        <busconfig><type>session</type><listen>unix:path=\(path)/bus</listen><auth>EXTERNAL</auth>
        <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
        <allow own="*"/></policy></busconfig>
        """
    }

    /// The file that the keyring's program writes if the user enters no password.
    private static let plainText = """
        [keyring]
        display-name=Login
        ctime=0
        mtime=0
        lock-on-idle=false
        lock-after=false


        """
}
