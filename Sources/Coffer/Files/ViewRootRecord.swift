import CofferBase
import CofferEngine
import SystemPackage

/// Where a vault has made view copies, as two files in it say: `viewroot`, the name of its own directory in
/// /dev/shm, and `viewroots`, runtime directories other than `/run/user/UID`, each with a zero after it.
///
/// A hint and no more: under a root, only views that bear the vault's id are touched, and only where the root
/// is in memory and of this user alone.
struct ViewRootRecord {
    private static let sharedName: FilePath = "viewroot"
    private static let runtimesName: FilePath = "viewroots"
    private static let prefix = Array("coffer-".utf8)
    private static let hexadecimal = Array("0123456789abcdef".utf8)
    private static let maxRuntimeCount = 32
    private static let maxByteCount = maxRuntimeCount * 4096

    /// The name under /dev/shm; `nil` when there is none, or it is damaged.
    private(set) var shared: FilePath?
    /// The runtime directories, the oldest first.
    private(set) var runtimes: [FilePath] = []

    /// Nothing is recorded.
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

    /// Whether a name is one that a vault takes under /dev/shm.
    static func isShared(_ name: [UInt8]) -> Bool {
        name.starts(with: prefix) && isUnique(name.dropFirst(prefix.count))
    }

    /// Whether a name is one that a view's directory has.
    static func isView(_ name: FilePath) -> Bool { isUnique(FileNameBytes.of(name)[...]) }

    private static func isUnique(_ name: ArraySlice<UInt8>) -> Bool {
        name.count == 32 && name.allSatisfy { hexadecimal.contains($0) }
    }

    /// Notes a new name under /dev/shm.
    static func note(shared name: String, in vault: borrowing Descriptor) throws(CofferError) {
        let bytes = Array(name.utf8)
        try vault.replace(sharedName, with: bytes.span)
    }

    /// Notes a runtime directory before the first view is made in it. Those that `isDispensable` are
    /// forgotten when there is no room.
    mutating func note(
        runtime: FilePath, in vault: borrowing Descriptor, _ isDispensable: (FilePath) -> Bool
    ) throws(CofferError) {
        guard !runtimes.contains(runtime) else { return }
        if runtimes.count >= Self.maxRuntimeCount { runtimes.removeAll(where: isDispensable) }
        guard runtimes.count < Self.maxRuntimeCount, Self.bytes(runtime).count < 4096 else {
            throw CofferError(.refused, "View copies lie under too many runtime directories: end some views.")
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
