import CofferEngine
import SystemPackage

/// Where a vault listens for lock triggers.
public struct LockTriggers: Sendable {
    /// The address of the session bus, for screen savers and the Secret Service; `nil` for none.
    public var sessionBus: String?
    /// The address of the system bus, for logind; `nil` for none.
    public var systemBus: String?
    /// logind's identifier of the desktop session, such as `c2`; `nil` for that of this process, or the one
    /// in which the user sees a desktop.
    public var desktopSession: String?
    /// How long to wait for each reply from a bus.
    public var deadline = Duration.seconds(2)

    /// The buses that the environment names, or their default sockets.
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
