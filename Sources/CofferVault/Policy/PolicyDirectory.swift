package import CofferBase
import CofferCrypto
import CofferEngine
package import SystemPackage

/// The directory with the policy files of the machine's administrator.
///
/// Each directory on the path and each file must belong to the administrator, must not be a link, and nobody
/// else may be able to write to it. This is checked on what was opened. A file that is there and cannot be
/// trusted, read or understood is an error, never an absent policy.
package struct PolicyDirectory: Sendable, Hashable {
    /// The directory below which everything must belong to `owner`.
    let base: FilePath
    let components: [FilePath]
    private let owner: UInt32

    /// The greatest number of policy files.
    package static let maxFiles = 256

    /// The directory of this machine: `/etc/coffer/policy.d`, which belongs to root.
    package static let system = PolicyDirectory(
        below: "/", components: ["etc", "coffer", "policy.d"], owner: 0)

    /// A directory of a test. Programs have ``system``.
    package init(below base: FilePath, components: [FilePath], owner: UInt32) {
        self.base = base
        self.components = components
        self.owner = owner
    }

    /// The directory's path.
    package var path: FilePath { components.reduce(base) { $0.pushing($1) } }

    /// Reads and merges all files whose names end in `.plist` or `.json`, in the order of their names' bytes.
    /// Names that begin with a period are ignored.
    ///
    /// A directory that changes meanwhile is read again, so that a file that is renamed is not missed.
    ///
    /// - Returns: The policy; ``ManagedPolicy/none`` if the directory is not there.
    /// - Throws: `policyInvalid` if anything cannot be trusted, read or understood, or if the directory keeps
    ///   changing; `outOfMemory`.
    package func read() throws(CofferError) -> ManagedPolicy {
        for _ in 0..<Self.maxReadings {
            guard let directory = try open() else { return .none }
            if let policy = try read(directory) { return policy }
        }
        throw Self.invalid(["\(path) changes while it is read. Try again when nobody changes it."])
    }

    /// The greatest number of times that a changing directory is read.
    private static let maxReadings = 16

    /// Reads and merges the files; returns `nil` if the directory or a file in it changed meanwhile.
    private func read(_ directory: borrowing Descriptor) throws(CofferError) -> ManagedPolicy? {
        let status = try status(of: directory)
        let listed = try names(in: directory)
        var policy = ManagedPolicy()
        var faults: [String] = []
        var digest: [UInt8] = []
        for (name, format) in listed {
            let shown = path.pushing(name).string
            do throws(CofferError) {
                guard let bytes = try content(of: name, in: directory) else { return nil }
                // Two digests of one size each, so that the end of a name is fixed.
                digest += try Digest.sha256.hash(FileNameBytes.of(name).span) + Digest.sha256.hash(bytes.span)
                let document = PolicyDocument(reading: bytes, as: format)
                if document.isValid { policy.add(document, from: shown, isLater: true) }
                faults += document.findings.filter { $0.kind == .error }.map { "\(shown): \($0)" }
            } catch {
                guard error.code != .outOfMemory else { throw error }
                // The file went between the listing and its opening, perhaps to another name.
                if error.code == .absent { return nil }
                faults += error.entries.isEmpty ? [error.message] : error.entries
            }
        }
        let isSame = try names(in: directory).map(\.name) == listed.map(\.name)
        guard isSame, try self.status(of: directory) == status else { return nil }
        guard faults.isEmpty else { throw Self.invalid(faults) }
        if !policy.files.isEmpty { policy.digest = try Digest.sha256.hash(digest.span) }
        return policy
    }

    private static func invalid(_ faults: [String]) -> CofferError {
        let rest =
            switch faults.count {
            case 1: ""
            case 2: " There is one more finding."
            default: " There are \(faults.count - 1) more findings."
            }
        return CofferError(
            .policyInvalid, "The administrator's policy is invalid. \(faults[0])\(rest)",
            remedy: .correctPolicy, entries: faults)
    }

    /// Opens the directory; `nil` if it, or a directory on its path, is not there.
    private func open() throws(CofferError) -> Descriptor? {
        do throws(CofferError) {
            var directory = try Descriptor.open(base, [.read, .directory])
            // Usually there is no policy, and one call finds that out. It follows no link of the last name.
            let start = components.prefix(2).reduce(FilePath()) { $0.pushing($1) }
            if !start.isEmpty, try directory.status(of: start) == nil { return nil }
            // Without a policy, it does not matter who owns the path to it, as in a container.
            var distrust = fault(of: try directory.status(), directory.path, .directory)
            for name in components {
                guard try directory.status(of: name) != nil else { return nil }
                directory = try directory.open(name, [.read, .directory])
                let status = try directory.status()
                if distrust == nil { distrust = fault(of: status, directory.path, .directory) }
            }
            if let distrust { throw distrust }
            return directory
        } catch {
            guard error.code != .outOfMemory, error.code != .policyInvalid else { throw error }
            throw Self.invalid([error.message])
        }
    }

    /// Throws `policyInvalid` unless an open file can be trusted.
    func check(
        _ file: borrowing Descriptor, _ kind: FileStatus.Kind
    ) throws(CofferError) {
        if let fault = fault(of: try file.status(), file.path, kind) { throw fault }
    }

    /// Returns the error for an open file that cannot be trusted; `nil` if it can.
    private func fault(
        of status: FileStatus, _ path: FilePath, _ kind: FileStatus.Kind
    ) -> CofferError? {
        guard status.kind != kind || status.owner != owner || status.permissions & 0o022 != 0 else {
            return nil
        }
        let expected = kind == .directory ? "a directory" : "a regular file"
        return Self.invalid([
            "\(path) cannot be trusted: it must be \(expected) that belongs to "
                + "\(owner == 0 ? "root" : "user \(owner)") and that nobody else can write to."
        ])
    }

    private func names(
        in directory: borrowing Descriptor
    ) throws(CofferError) -> [(name: FilePath, format: PolicyDocument.Format)] {
        let names: [FilePath]
        do throws(CofferError) {
            names = try directory.names()
        } catch {
            guard error.code != .outOfMemory else { throw error }
            throw Self.invalid([error.message])
        }
        let found = names.compactMap { name in
            PolicyDocument.Format(fileName: FileNameBytes.of(name)).map { (name: name, format: $0) }
        }
        guard found.count <= Self.maxFiles else {
            throw Self.invalid(["\(path) has more than \(Self.maxFiles) policy files."])
        }
        return found.sorted {
            FileNameBytes.of($0.name).lexicographicallyPrecedes(FileNameBytes.of($1.name))
        }
    }

    /// Returns the bytes of a file; `nil` if the file changed while it was read. A link is not followed, and
    /// a pipe does not block.
    private func content(
        of name: FilePath, in directory: borrowing Descriptor
    ) throws(CofferError) -> [UInt8]? {
        let file = try directory.open(name, .read)
        try check(file, .regular)
        let status = try file.status()
        guard status.size <= Int64(PolicyDocument.maxByteCount) else {
            throw CofferError(
                .policyInvalid, "\(file.path) is longer than \(PolicyDocument.maxByteCount) bytes.")
        }
        let bytes = try file.readAll(limit: PolicyDocument.maxByteCount)
        return try file.status() == status ? bytes : nil
    }

    private func status(of directory: borrowing Descriptor) throws(CofferError) -> FileStatus {
        do throws(CofferError) {
            return try directory.status()
        } catch {
            guard error.code != .outOfMemory else { throw error }
            throw Self.invalid([error.message])
        }
    }
}

extension PolicyDocument.Format {
    /// The format of a file with this name; `nil` if the name is not that of a policy file.
    package init?(fileName name: [UInt8]) {
        guard name.first != UInt8(ascii: ".") else { return nil }
        guard let format = Self.allCases.first(where: { Self.ends(name, $0) }) else {
            return nil
        }
        self = format
    }

    private static func ends(_ name: [UInt8], _ format: Self) -> Bool {
        name.suffix(format.rawValue.utf8.count + 1).elementsEqual(("." + format.rawValue).utf8)
    }
}
