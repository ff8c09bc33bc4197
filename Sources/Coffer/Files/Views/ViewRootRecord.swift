import CofferBase
import CofferEngine
import SystemPackage

/// The locations where a vault has made view copies, recorded in two files in the vault: `viewroot` contains
/// the name of the vault's own directory in /dev/shm, and `viewroots` contains runtime directories other than
/// `/run/user/UID`, each followed by a zero byte.
///
/// The record is only a hint: under a root, only views that have the vault's identifier or that no process
/// holds are removed, and only if the root is in memory, belongs to this user and is not writable by other
/// users.
struct ViewRootRecord {
    private static let sharedName: FilePath = "viewroot"
    private static let runtimesName: FilePath = "viewroots"
    private static let prefix = Array("coffer-".utf8)
    private static let hexadecimal = Array("0123456789abcdef".utf8)
    private static let maxRuntimeCount = 32
    private static let maxByteCount = maxRuntimeCount * 4096

    /// The name under /dev/shm; `nil` if none is recorded, or if the recorded name is damaged.
    private(set) var shared: FilePath?
    /// The runtime directories, oldest first.
    private(set) var runtimes: [FilePath] = []

    /// Creates an empty record.
    init() {}

    init(in vault: borrowing Descriptor) {
        if let bytes = Self.content(of: Self.sharedName, limit: 64, in: vault), Self.isShared(bytes) {
            shared = FilePath(String(decoding: bytes, as: UTF8.self))
        }
        let bytes = Self.content(of: Self.runtimesName, limit: Self.maxByteCount, in: vault) ?? []
        runtimes = bytes.split(separator: 0).prefix(Self.maxRuntimeCount).compactMap {
            Self.path(Array($0))
        }
    }

    /// Returns whether a name has the form of the name of a vault's directory under /dev/shm.
    static func isShared(_ name: [UInt8]) -> Bool {
        name.starts(with: prefix) && isUnique(name.dropFirst(prefix.count))
    }

    /// Returns whether a name has the form of a view directory's name.
    static func isView(_ name: FilePath) -> Bool { isUnique(FileNameBytes.of(name)[...]) }

    private static func isUnique(_ name: ArraySlice<UInt8>) -> Bool {
        name.count == 32 && name.allSatisfy { hexadecimal.contains($0) }
    }

    /// Records a new name under /dev/shm.
    static func note(shared name: String, in vault: borrowing Descriptor) throws(CofferError) {
        let bytes = Array(name.utf8)
        try vault.replace(sharedName, with: bytes.span)
    }

    /// Records a runtime directory before the first view is made in it. If the record is full, first removes
    /// the directories for which `isDispensable` returns `true`.
    mutating func note(
        runtime: FilePath, in vault: borrowing Descriptor, _ isDispensable: (FilePath) -> Bool
    ) throws(CofferError) {
        guard !runtimes.contains(runtime) else { return }
        if runtimes.count >= Self.maxRuntimeCount { runtimes.removeAll(where: isDispensable) }
        guard runtimes.count < Self.maxRuntimeCount, Self.bytes(runtime).count < 4096 else {
            throw CofferError(
                .refused,
                "View copies are open in too many runtime directories. Close some of the views, then try "
                    + "again.")
        }
        runtimes.append(runtime)
        var bytes: [UInt8] = []
        for path in runtimes { bytes += Self.bytes(path) + [0] }
        try vault.replace(Self.runtimesName, with: bytes.span)
    }

    private static func content(of name: FilePath, limit: Int, in vault: borrowing Descriptor) -> [UInt8]? {
        guard let file = try? vault.open(name, .read), (try? file.status())?.kind == .regular else {
            return nil
        }
        return try? file.readAll(limit: limit)
    }

    private static func bytes(_ path: FilePath) -> [UInt8] { FileNameBytes.of(path) }

    private static func path(_ bytes: [UInt8]) -> FilePath? {
        guard let path = FileNameBytes.path(bytes), path.isAbsolute else { return nil }
        return path
    }
}
