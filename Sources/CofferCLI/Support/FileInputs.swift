import CofferBase
import CofferCommandLine
import CofferEngine
import SystemPackage

/// The inputs that the arguments of `file add` specify. They are examined before the vault is opened. If any
/// argument is wrong, nothing is stored and no passcode is requested.
struct FileInputs {
    /// The source of one file to add.
    enum Source {
        case file(FilePath)
        /// A pipe or a device, which is read until it ends.
        case stream(FilePath)
        case standardInput

        /// The path to show to the user, or `-` for standard input.
        var text: String {
            switch self {
            case .file(let path), .stream(let path): path.string
            case .standardInput: "-"
            }
        }

        /// The name under which a file is stored unless the user specifies another; `nil` for a stream, which
        /// has none.
        var name: FilePath.Component? {
            switch self {
            case .file(let path): path.lastComponent
            case .stream, .standardInput: nil
            }
        }
    }

    /// The inputs in the order of the arguments. The files in a directory are in the byte order of their
    /// names.
    private(set) var sources: [Source] = []
    /// The directory entries that are not added: links, pipes, devices, and the vault directory itself.
    private(set) var skipped: [FilePath] = []
    private let home: FileStatus?

    /// Examines the arguments and collects the inputs.
    ///
    /// - Parameters:
    ///   - paths: The paths that the user specified, or `-` for standard input.
    ///   - isNamed: Whether the user specified a name, which is possible only for a single input.
    ///   - isRecursive: Whether to add the files in directories.
    ///   - home: The vault directory, which is skipped inside other directories.
    /// - Throws: `invalidInput` or `refused` if a path cannot be added; `absent` if a path does not exist;
    ///   any other error that occurs while examining a path.
    init(
        _ paths: [String], isNamed: Bool, isRecursive: Bool, home: FilePath
    ) throws(CofferError) {
        self.home = try? FileStatus.at(home)
        guard !isNamed || paths.count == 1 else {
            throw CofferError(.invalidInput, "--name works only for one file.")
        }
        for text in paths {
            if text.hasSameBytes(as: "-") {
                guard isNamed else {
                    throw CofferError(
                        .invalidInput,
                        "Standard input has no name. Specify a name with --name, or write ./- for a file "
                            + "named -.")
                }
                sources.append(.standardInput)
                continue
            }
            let path = try FilePathArgument.path(text)
            switch try FilePathArgument.status(of: path).kind {
            case .regular: sources.append(.file(path))
            case .directory:
                guard isRecursive, !isNamed else { throw Self.directory(path, isRecursive) }
                try collect(Descriptor.open(path, [.read, .directory]))
            case .symbolicLink, .socket, .other:
                guard isNamed else {
                    throw CofferError(
                        .refused,
                        "\(path) is not a regular file. To store its content as a stream, specify a name "
                            + "with --name.")
                }
                sources.append(.stream(path))
            }
        }
    }

    private static func directory(_ path: FilePath, _ isRecursive: Bool) -> CofferError {
        CofferError(
            .refused,
            isRecursive
                ? "\(path) is a directory, but --name works only for one file."
                : "\(path) is a directory. To store each file in it, specify --recursive.")
    }

    /// Adds the files in a directory. Does not follow links, so nothing outside the directory is added and
    /// the search cannot continue endlessly.
    private mutating func collect(_ directory: consuming Descriptor) throws(CofferError) {
        let path = directory.path
        if let home, try directory.status().isSameFile(as: home) {
            skipped.append(path)
            return
        }
        let names = try directory.names().sorted {
            FileNameBytes.of($0).lexicographicallyPrecedes(FileNameBytes.of($1))
        }
        for name in names {
            guard let status = try directory.status(of: name) else { continue }
            switch status.kind {
            case .regular: sources.append(.file(path.pushing(name)))
            case .directory: try collect(directory.open(name, [.read, .directory]))
            case .symbolicLink, .socket, .other: skipped.append(path.pushing(name))
            }
        }
    }
}
