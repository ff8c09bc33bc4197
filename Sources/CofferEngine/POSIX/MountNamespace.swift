package import CofferBase
import CLinux
import Glibc
package import SystemPackage

/// A way to run a viewing program on a file that no process outside the program's mount namespace can see. A
/// process enters its own mount namespace with an in-memory file system and then becomes the viewing program.
/// The kernel removes the file when the last process in the namespace ends.
///
/// Only a process with one thread can enter its own user namespace. This program is therefore started again,
/// with ``word`` as the first argument, and calls ``execIfRequested(_:)`` before anything else.
package enum MountNamespace {
    /// The first argument of a process that becomes the viewing program.
    package static let word = "view-inside"
    private static let probe = "--probe"

    /// Returns the command that runs `command` with an inherited descriptor's content at `path`, whose parent
    /// must be an empty directory that belongs to this user.
    package static func command(
        descriptor: Int32, path: FilePath, _ command: [[UInt8]]
    ) -> [[UInt8]] {
        [
            Array("/proc/self/exe".utf8), Array(word.utf8), Array(String(descriptor).utf8),
            FileNameBytes.of(path),
        ]
            + command
    }

    /// Reports whether this host permits this user to create a mount namespace.
    package static func isPossible() throws(CofferError) -> Bool {
        try ChildProcess.run([Array("/proc/self/exe".utf8), Array(word.utf8), Array(probe.utf8)]) == 0
    }

    /// Runs the requested viewing program and does not return if the arguments begin with ``word``. The
    /// parameter `arguments` contains the arguments that follow the program's name.
    package static func execIfRequested(_ arguments: [String]) {
        guard arguments.first == word else { return }
        do throws(CofferError) {
            try exec(Array(arguments.dropFirst()))
        } catch {
            let message = Array("coffer: \(error.message)\n".utf8)
            _ = unsafe message.withUnsafeBytes { unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
            exit(ChildProcess.exitCode(ofFailedStart: error) ?? 1)
        }
    }

    private static func exec(_ arguments: [String]) throws(CofferError) {
        if arguments == [probe] {
            try enterNamespace()
            exit(0)
        }
        guard arguments.count >= 3, let number = Int32(arguments[0]) else {
            throw CofferError(.invalidInput, "The argument \(word) is reserved for internal use.")
        }
        let source = try Descriptor.adopting(number)
        try enterNamespace()
        try place(source, at: ProgramArguments.path(arguments[1]))
        try ChildProcess.become(arguments[2...].map { ProgramArguments.bytes($0) })
    }

    /// Enters a new user namespace, in which this user keeps its identity, and a new mount namespace within
    /// it. If the user namespace is forbidden, root enters only the mount namespace.
    private static func enterNamespace() throws(CofferError) {
        let (user, group) = (geteuid(), getegid())
        if clinux_unshare(newUser | newMounts) == 0 {
            // The files below /proc/self belong to root while the process is not dumpable.
            _ = clinux_prctl(PR_SET_DUMPABLE, 1)
            defer { _ = clinux_prctl(PR_SET_DUMPABLE, 0) }
            try? write("deny", to: "/proc/self/setgroups")
            try write("\(user) \(user) 1", to: "/proc/self/uid_map")
            try write("\(group) \(group) 1", to: "/proc/self/gid_map")
        } else if user != 0 || clinux_unshare(newMounts) != 0 {
            throw Errno.failure("create a mount namespace", nil)
        }
        try mount("none", "/", nil, MountFlags.recursive | MountFlags.isPrivate, nil)
    }

    private static var newUser: CInt { 0x1000_0000 }  // CLONE_NEWUSER
    private static var newMounts: CInt { 0x0002_0000 }  // CLONE_NEWNS

    private enum MountFlags {
        static let noSetUserID: UInt = 2
        static let noDevices: UInt = 4
        static let noExecution: UInt = 8
        static let recursive: UInt = 16384
        static let isPrivate: UInt = 1 << 18
    }

    private static func write(_ text: String, to path: FilePath) throws(CofferError) {
        let file = try Descriptor.open(path, .readWrite)
        let bytes = Array(text.utf8)
        try file.append(bytes.span)
    }

    private static func mount(
        _ source: String, _ target: FilePath, _ type: String?, _ flags: UInt, _ options: String?
    ) throws(CofferError) {
        let status = unsafe target.withPlatformString { target in
            unsafe clinux_mount(source, target, type, flags, options)
        }
        guard status == 0 else { throw Errno.failure("mount", target) }
    }

    /// Copies the descriptor's content to a file at `path`, in an in-memory file system that exists only in
    /// this namespace.
    private static func place(_ source: borrowing Descriptor, at path: FilePath) throws(CofferError) {
        let flags = MountFlags.noSetUserID | MountFlags.noDevices | MountFlags.noExecution
        guard let name = path.lastComponent else {
            throw CofferError(.invalidInput, "The path \(path) does not end with a file name.")
        }
        let parent = path.removingLastComponent()
        try mount("coffer", parent, "tmpfs", flags, "mode=700")
        let directory = try Descriptor.open(parent, [.read, .directory])
        let file = try directory.open(FilePath(root: nil, [name]), [.readWrite, .exclusive])
        let size = try source.status().size
        let buffer = try AlignedBuffer.make(count: 1 << 20)
        var offset: Int64 = 0
        while offset < size {
            let count = try buffer.write(0..<buffer.count) { (piece) throws(CofferError) in
                try source.read(at: offset, into: &piece)
            }
            guard count > 0 else { throw Errno.failure("read", source.path, errno: EIO) }
            try buffer.read(0..<count) { (piece) throws(CofferError) in try file.write(piece, at: offset) }
            offset += Int64(count)
        }
        try file.setPermissions(0o400)
    }
}
