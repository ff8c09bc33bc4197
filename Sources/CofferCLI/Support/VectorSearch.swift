import CofferBase
import CofferCommandLine
import CofferCrypto
import CofferEngine
import CofferVectors
import SystemPackage

/// A search for the vector files at the given paths and the manifests in the same directories.
struct VectorSearch {
    /// The maximum size of a file to read, in bytes.
    private static let largestFile = 256 << 20

    /// The files that were found, in the order of the paths. The files in a directory are ordered by name.
    private(set) var files: [FilePath] = []
    /// The combined contents of the manifests.
    private(set) var manifest = VectorManifest()

    /// Searches the given paths for vector files and manifests.
    ///
    /// - Throws: `absent` for a path that does not exist; `corrupt` for a damaged manifest. The search keeps
    ///   an unreadable path, whose report then contains the error.
    static func run(_ paths: [FilePath], manifests: [FilePath]) throws(CofferError) -> VectorSearch {
        var search = VectorSearch()
        var known = manifests
        for path in paths {
            guard let folder = try? Descriptor.open(path, [.read, .directory]) else {
                _ = try FilePathArgument.status(of: path)
                search.files.append(path)
                let beside = path.removingLastComponent().appending(VectorManifest.fileName)
                if (try? Descriptor.open(beside, [.read, .nonBlocking])) != nil { known.append(beside) }
                continue
            }
            try search.addFiles(in: folder, path, &known)
        }
        var read: Set<FilePath> = []
        for path in known where read.insert(path).inserted {
            try search.manifest.add(try contents(of: path))
        }
        return search
    }

    /// Reads a whole file.
    static func contents(of path: FilePath) throws(CofferError) -> [UInt8] {
        let file = try Descriptor.open(path, [.read, .nonBlocking])
        guard try file.status().kind == .regular else {
            throw CofferError(.invalidInput, "\(path) must be a regular file.")
        }
        return try file.readAll(limit: largestFile)
    }

    /// Adds the vector files and manifests in a directory and in the directories below it. Follows links to
    /// files, but not links to directories.
    private mutating func addFiles(
        in folder: borrowing Descriptor, _ path: FilePath, _ known: inout [FilePath]
    ) throws(CofferError) {
        for name in try folder.names().sorted(by: { $0.string < $1.string }) {
            let entry = path.pushing(name)
            switch try folder.status(of: name)?.kind {
            case .directory:
                try addFiles(in: try folder.open(name, [.read, .directory]), entry, &known)
            case .some where name.string == VectorManifest.fileName:
                known.append(entry)
            case .some where name.extension == "json":
                files.append(entry)
            default:
                break
            }
        }
    }
}
