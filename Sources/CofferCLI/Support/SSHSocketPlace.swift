import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

/// The place of the SSH agent's socket.
enum SSHSocketPlace {
    private static let directory: FilePath = "coffer"

    /// Returns the usual path of the socket, in the user's directory for sockets.
    static func usual() throws(CofferError) -> FilePath { try runtimeDirectory().pushing("coffer/ssh.sock") }

    /// Returns the usual path, after creating the directory in which it is.
    static func prepared(_ name: FilePath = "ssh.sock") throws(CofferError) -> FilePath {
        let base = try runtimeDirectory()
        let parent = try Descriptor.open(base, [.read, .directory])
        if try parent.status(of: directory) == nil {
            do throws(CofferError) {
                try parent.makeDirectory(directory)
            } catch {
                guard error.code == .alreadyExists else { throw error }
            }
        }
        let status = try parent.open(directory, [.read, .directory]).status()
        guard status.isOwn, status.permissions & 0o022 == 0 else {
            throw CofferError(
                .refused,
                "\(base.pushing(directory)) must be a directory that belongs to this user and that only this "
                    + "user can write to. Change its owner or its mode.")
        }
        return base.pushing(directory).pushing(name)
    }

    private static func runtimeDirectory() throws(CofferError) -> FilePath {
        guard let path = Environment.path("XDG_RUNTIME_DIR"), path.isAbsolute else {
            throw CofferError(
                .invalidInput, "XDG_RUNTIME_DIR is not set. Specify the path of the socket with --socket.")
        }
        return path
    }
}
