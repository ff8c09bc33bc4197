import CofferBase

/// A mount, as /proc/self/mountinfo describes it. The format is documented in proc(5).
package struct MountEntry: Sendable, Equatable {
    /// The mount's id, as in /proc/self/fdinfo.
    package let id: Int
    /// The device number in the form `major:minor`. The major number is 0 for a file system without its own
    /// device.
    package let device: String
    /// The file system's type, such as `ext4`, `nfs4` or `fuse.sshfs`.
    package let type: String
    /// The device or other source from which the file system was mounted.
    package let source: String
    /// The file system's options, separated by commas.
    package let options: String

    /// Parses one line of a mountinfo file. Returns `nil` if the line is invalid.
    package init?(line: some StringProtocol) {
        let words = line.parts(between: " ")
        guard words.count >= 10, let id = Int(words[0]),
            let dash = words.indices.dropFirst(6).first(where: { words[$0].hasSameBytes(as: "-") }),
            words.count >= dash + 4
        else { return nil }
        self.id = id
        device = String(words[2])
        type = String(words[dash + 1])
        source = String(words[dash + 2])
        options = String(words[dash + 3])
    }

    /// Returns the mount with the given id from the text of a mountinfo file, or `nil` if the text does not
    /// list it.
    package static func find(_ id: Int, in table: String) -> MountEntry? {
        for line in table.parts(between: "\n") {
            if let entry = MountEntry(line: line), entry.id == id { return entry }
        }
        return nil
    }

    private static let networkTypes: Set<String> = [
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "ceph", "coda", "davfs", "glusterfs",
        "lustre",
        "beegfs", "gpfs", "orangefs", "pvfs2", "fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.davfs",
        "fuse.davfs2", "fuse.glusterfs", "fuse.gvfsd-fuse", "fuse.curlftpfs", "fuse.ceph", "fuse.ceph-fuse",
        "fuse.smbnetfs", "fuse.gcsfuse", "fuse.google-drive-ocamlfuse", "fuse.onedriver", "fuse.juicefs",
    ]

    /// Whether the mounted files are on another machine.
    package var isNetwork: Bool {
        if type == "9p" {
            return options.parts(between: ",").contains { $0.hasSameBytes(as: "trans=tcp") }
        }
        return Self.networkTypes.contains(type)
    }

    /// The path of a device from which a file system without its own device number was mounted, or `nil` if
    /// the kernel does not vouch for it. For most such file systems, for example overlay and tmpfs, the
    /// source is any text that the caller of mount(2) chose.
    package var sourceDevice: String? {
        guard ["btrfs", "bcachefs"].contains(type), source.utf8.hasPrefix("/dev/") else { return nil }
        return source
    }

    /// Whether the mounted file system encrypts each file.
    package var isEncrypting: Bool {
        ["ecryptfs", "fuse.gocryptfs", "fuse.cryfs", "fuse.encfs", "fuse.securefs"].contains(type)
    }
}
