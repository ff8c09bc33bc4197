import CofferEngine
import SystemPackage

/// The sources of a vault's lock triggers: buses and the desktop session.
public struct LockTriggers: Sendable {
    /// The address of the session bus, for screen savers and the Secret Service; `nil` for none.
    public var sessionBus: String?
    /// The address of the system bus, for logind; `nil` for none.
    public var systemBus: String?
    /// logind's identifier for the desktop session, such as `c2`. If this property is `nil`, the session is
    /// that of this process or, if the process has none, the session that logind reports as the user's
    /// display.
    public var desktopSession: String?
    /// Whether the vault locks with the default collection of the Secret Service. A program that is the
    /// Secret Service itself must not: its own signals would lock the vault again after an unlock.
    package var followsCollection = true
    /// The maximum time to wait for each reply from a bus.
    public var deadline = Duration.seconds(2)

    /// Creates the triggers for the buses and the session that the environment specifies. For a bus that the
    /// environment does not specify, the default socket is used if it exists.
    public init() {
        sessionBus = Environment.value("DBUS_SESSION_BUS_ADDRESS")
        if sessionBus == nil, let runtime = Environment.path("XDG_RUNTIME_DIR"), runtime.isAbsolute {
            sessionBus = Self.socket(runtime.appending("bus"))
        }
        systemBus =
            Environment.value("DBUS_SYSTEM_BUS_ADDRESS") ?? Self.socket("/run/dbus/system_bus_socket")
        desktopSession = Environment.value("XDG_SESSION_ID")
    }

    private static func socket(_ path: FilePath) -> String? {
        let parent = path.removingLastComponent()
        guard let directory = try? Descriptor.open(parent, [.read, .directory]),
            let name = path.lastComponent,
            (try? directory.status(of: FilePath(root: nil, [name]))) ?? nil != nil
        else { return nil }
        return "unix:path=\(path)"
    }
}
