public import CofferBase
import CofferEngine
public import SystemPackage

/// Where a vault lives: a directory of its owner alone.
public struct HomeLocation: Sendable, Hashable {
    /// The directory.
    public let path: FilePath

    /// The directory `path`; it may not exist yet.
    public init(path: FilePath) { self.path = path }

    /// The usual place for an app: `$XDG_DATA_HOME/APP`, else `~/.local/share/APP`.
    ///
    /// - Throws: `invalidInput` when `app` is not a plain name or there is no home directory.
    public static func `default`(for app: String) throws(CofferError) -> HomeLocation {
        guard let name = FilePath.Component(app), name.kind == .regular else {
            throw CofferError(.invalidInput, "The name of an app is one path component.")
        }
        if let data = Environment.value("XDG_DATA_HOME"), data.hasPrefix("/") {
            return HomeLocation(path: FilePath(data).appending(name))
        }
        guard let home = Environment.value("HOME"), home.hasPrefix("/") else {
            throw CofferError(.invalidInput, "Neither XDG_DATA_HOME nor HOME names a directory.")
        }
        return HomeLocation(path: FilePath(home).appending(".local/share").appending(name))
    }
}
