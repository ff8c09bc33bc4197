public import CofferBase
import CofferEngine
public import SystemPackage

/// Where a vault lives: a directory of its owner alone.
public struct VaultLocation: Sendable, Hashable {
    /// The directory.
    public let path: FilePath

    /// The address of the message bus whose Secret Service a vault here may use; `nil`: the session's.
    public let sessionBus: String?

    /// The directory `path`; it may not exist yet.
    ///
    /// - Parameters:
    ///   - path: The directory.
    ///   - sessionBus: The address of the bus that the user's Secret Service is on, as in
    ///     `unix:path=/run/user/1000/bus`; `nil`: that of the environment.
    public init(path: FilePath, sessionBus: String? = nil) {
        self.path = path
        self.sessionBus = sessionBus
    }

    /// The usual place for an app: `$XDG_DATA_HOME/APP`, else `~/.local/share/APP`.
    ///
    /// - Throws: `invalidInput` when `app` is not a plain name or there is no home directory.
    public static func `default`(for app: String) throws(CofferError) -> VaultLocation {
        guard let name = FilePath.Component(app), name.kind == .regular else {
            throw CofferError(.invalidInput, "The name of an app is one path component.")
        }
        if let data = Environment.value("XDG_DATA_HOME"), data.utf8.hasPrefix("/") {
            return VaultLocation(path: FilePath(data).appending(name))
        }
        guard let home = Environment.value("HOME"), home.utf8.hasPrefix("/") else {
            throw CofferError(.invalidInput, "Neither XDG_DATA_HOME nor HOME names a directory.")
        }
        return VaultLocation(path: FilePath(home).appending(".local/share").appending(name))
    }
}
