public import CofferBase
import CofferEngine
public import SystemPackage

/// The location of a vault: a directory that only its owner can access.
public struct VaultLocation: Sendable, Hashable {
    /// The vault directory's path.
    public let path: FilePath

    /// The address of the message bus with the Secret Service that a vault at this location may use; `nil`
    /// for the session bus that the environment specifies.
    public let sessionBus: String?

    /// The directory with the administrator's policy. Only tests have another one than this machine's.
    package var policyDirectory = PolicyDirectory.system

    /// Creates a location at `path`. The directory may not exist yet.
    ///
    /// - Parameters:
    ///   - path: The vault directory's path.
    ///   - sessionBus: The address of the bus with the user's Secret Service, such as
    ///     `unix:path=/run/user/1000/bus`; `nil` for the session bus that the environment specifies.
    public init(path: FilePath, sessionBus: String? = nil) {
        self.path = path
        self.sessionBus = sessionBus
    }

    /// Returns the default location for an app: `$XDG_DATA_HOME/APP`, or `~/.local/share/APP` if the variable
    /// is not set to an absolute path.
    ///
    /// - Throws: `invalidInput` if `app` is not a single path component, or if neither `XDG_DATA_HOME` nor
    ///   `HOME` is set to an absolute path.
    public static func `default`(for app: String) throws(CofferError) -> VaultLocation {
        guard let name = FilePath.Component(app), name.kind == .regular else {
            throw CofferError(.invalidInput, "An app's name must be a single path component.")
        }
        if let data = Environment.value("XDG_DATA_HOME"), data.utf8.hasPrefix("/") {
            return VaultLocation(path: FilePath(data).appending(name))
        }
        guard let home = Environment.value("HOME"), home.utf8.hasPrefix("/") else {
            throw CofferError(
                .invalidInput,
                "The vault directory could not be determined because neither XDG_DATA_HOME nor HOME is an "
                    + "absolute path. Set one of these variables to an absolute path.")
        }
        return VaultLocation(path: FilePath(home).appending(".local/share").appending(name))
    }
}
