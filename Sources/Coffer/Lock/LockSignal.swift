import CofferBase
import CofferDBus
import CofferEngine

/// The meaning of a bus signal for a vault.
enum LockSignal: Equatable {
    case lock(LockReason)
    /// Evict every key, as a logout does.
    case close(LockReason)
    case awake
    /// A Secret Service collection reports that it is locked.
    case collectionLocked(path: String)
    /// A collection changed in a way that the signal does not specify.
    case collectionChanged(path: String)

    static let login = "org.freedesktop.login1"
    static let loginPath = "/org/freedesktop/login1"
    static let loginManager = "org.freedesktop.login1.Manager"
    static let loginSession = "org.freedesktop.login1.Session"
    static let properties = "org.freedesktop.DBus.Properties"
    static let secrets = "org.freedesktop.secrets"
    static let secretsPath = "/org/freedesktop/secrets"
    static let secretService = "org.freedesktop.Secret.Service"
    static let collection = "org.freedesktop.Secret.Collection"
    /// The screen saver interfaces, which differ between desktops.
    static let screenSavers = [
        "org.freedesktop.ScreenSaver", "org.gnome.ScreenSaver", "org.cinnamon.ScreenSaver",
        "org.mate.ScreenSaver", "org.xfce.ScreenSaver",
    ]

    static let systemRules = [
        BusRule(sender: login, interface: loginManager, name: "PrepareForSleep"),
        BusRule(sender: login, interface: loginManager, name: "PrepareForShutdown"),
        BusRule(sender: login, interface: loginManager, name: "SessionRemoved"),
        BusRule(sender: login, interface: loginSession, name: "Lock"),
        BusRule.properties(of: loginSession, sender: login),
    ]

    static let sessionRules =
        screenSavers.map { BusRule(interface: $0, name: "ActiveChanged") } + [
            BusRule.properties(of: collection, sender: secrets),
            BusRule(sender: secrets, interface: secretService, name: "CollectionChanged"),
        ]

    /// Interprets `signal` for a process in the desktop session with the logind object path `session`; `nil`
    /// if the signal has no meaning for a vault.
    init?(_ signal: BusSignal, session: String?) {
        let content = signal.content
        func isOwn(_ path: String?) -> Bool { path.flatMap { session?.hasSameBytes(as: $0) } ?? false }
        switch (signal.interface, signal.name) {
        case (Self.loginManager, "PrepareForSleep"):
            guard let flag = content.flag else { return nil }
            self = flag ? .lock(.sleep) : .awake
        case (Self.loginManager, "PrepareForShutdown"):
            guard content.flag == true else { return nil }
            self = .close(.shutdown)
        case (Self.loginManager, "SessionRemoved"):
            guard isOwn(content.positionalStrings.last) else { return nil }
            self = .close(.sessionEnd)
        case (Self.loginSession, "Lock"):
            guard isOwn(signal.path) else { return nil }
            self = .lock(.screenLock)
        case (Self.properties, "PropertiesChanged"):
            guard let meaning = Self.change(signal, session: session) else { return nil }
            self = meaning
        case (let interface, "ActiveChanged") where Self.screenSavers.contains(interface):
            guard content.flag == true else { return nil }
            self = .lock(.screenSaver)
        case (Self.secretService, "CollectionChanged"):
            guard let path = content.positionalStrings.first else { return nil }
            self = .collectionChanged(path: path)
        default: return nil
        }
    }

    private static func change(_ signal: BusSignal, session: String?) -> LockSignal? {
        let content = signal.content
        switch content.positionalStrings.first {
        case loginSession where session?.hasSameBytes(as: signal.path) == true:
            if content.strings["State"] == "closing" { return .close(.sessionEnd) }
            return content.booleans["LockedHint"] == true ? .lock(.lockedHint) : nil
        case collection:
            return content.booleans["Locked"] == true ? .collectionLocked(path: signal.path) : nil
        default: return nil
        }
    }
}
