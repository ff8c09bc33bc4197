import CofferEngine
import SystemPackage

/// The kind of machine, as policies name it. It comes from what only root can change: the target that
/// systemd starts by default.
package enum PolicyPlatform: String, Sendable, CaseIterable {
    /// A machine that starts a graphical session.
    case desktop = "linux-desktop"
    /// Every other machine.
    case server = "linux-server"

    private static let defaults: [FilePath] = [
        "/etc/systemd/system/default.target", "/usr/lib/systemd/system/default.target",
    ]

    /// The kind of this machine.
    package static var current: PolicyPlatform {
        let start = defaults.lazy.compactMap { try? FileStatus.at($0) }.first
        guard let start, let graphical = try? FileStatus.at("/usr/lib/systemd/system/graphical.target") else {
            return .server
        }
        return start.isSameFile(as: graphical) ? .desktop : .server
    }

    /// The names by which policies allow this machine.
    package static var names: Set<String> { ["linux", current.rawValue] }
}
