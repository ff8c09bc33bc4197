import CLinux
package import CofferBase
import Glibc

/// The secrets that one child process receives, either as sealed in-memory files that it inherits or as
/// environment variables. For each file, an environment variable contains the file's path.
package struct ChildSecrets: ~Copyable {
    /// The maximum length of an environment entry that the kernel accepts (MAX_ARG_STRLEN), including the
    /// final NUL byte.
    private static let maxEntryLength = 128 << 10
    private static let maxEnvironmentLength = 1 << 20

    /// A file that stays open in this process until the child has inherited it.
    private final class File: Sendable {
        private let descriptor: Descriptor

        init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

        var number: Int32 { descriptor.number }
    }

    /// The environment entries, each followed by a NUL byte.
    private var entries: GuardedBuffer
    private var names: [String] = []
    private var files: [File] = []

    private init(entries: consuming GuardedBuffer) { self.entries = entries }

    /// Creates an empty set of secrets.
    package static func make() throws(CofferError) -> ChildSecrets {
        ChildSecrets(entries: try GuardedBuffer.make(limit: maxEnvironmentLength))
    }

    /// Adds an environment variable. While the child runs, every process of this user can read it.
    ///
    /// - Parameters:
    ///   - name: The variable's name.
    ///   - value: The bytes of the variable's value.
    /// - Throws: `invalidInput` if `name` is not a valid variable name or was already added, or if `value`
    ///   contains a NUL byte or is too long for a variable.
    package mutating func setVariable(_ name: String, to value: Span<UInt8>) throws(CofferError) {
        for index in value.indices where value[index] == 0 {
            throw CofferError(
                .invalidInput,
                "The value for \(name) contains a NUL byte, which an environment variable cannot hold. "
                    + "Use a file instead."
            )
        }
        guard name.utf8.count + value.count + 2 <= Self.maxEntryLength else {
            throw CofferError(
                .invalidInput,
                "The value for \(name) is too long for an environment variable. Use a file instead.")
        }
        try add(name, value)
    }

    /// Adds a file and an environment variable that contains the file's path.
    ///
    /// - Parameters:
    ///   - name: The environment variable's name.
    ///   - content: The file's content, which no process can change.
    /// - Throws: `invalidInput` if `name` is not a valid variable name or was already added; any error that
    ///   occurs while creating the in-memory file.
    package mutating func setFile(_ name: String, to content: Span<UInt8>) throws(CofferError) {
        let descriptor = try Descriptor.sealableMemory()
        try descriptor.write(content, at: 0)
        try descriptor.seal()
        let file = File(descriptor)
        try add(name, Array("/proc/self/fd/\(file.number)".utf8).span)
        files.append(file)
    }

    private mutating func add(_ name: String, _ value: Span<UInt8>) throws(CofferError) {
        guard Self.isName(name) else {
            throw CofferError(
                .invalidInput,
                "A variable name must contain only letters, digits and underscores, and must not begin with "
                    + "a digit.")
        }
        guard !names.contains(where: { $0.hasSameBytes(as: name) }) else {
            throw CofferError(.invalidInput, "The variable \(name) is specified more than once.")
        }
        names.append(name)
        try entries.append(name + "=")
        try entries.append(value)
        try entries.append("\0")
    }

    private static func isName(_ name: String) -> Bool {
        guard let first = name.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            return false
        }
        return name.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
    }

    /// Runs the program `arguments[0]`, which is looked up in PATH, with the secrets. This process releases
    /// the secrets before it waits for the program to end. While the program runs, forwards the signals that
    /// ``TerminationSignals`` holds to it.
    ///
    /// - Parameters:
    ///   - arguments: The program's name and arguments.
    ///   - outputToErrors: Whether the program's standard output goes to standard error.
    /// - Returns: The program's exit code, or 128 + the signal's number if a signal ended the program.
    /// - Throws: `invalidInput` if the command is invalid or does not specify a program that can be run; any
    ///   other error that occurs while starting the program.
    package consuming func run(
        _ arguments: [[UInt8]], outputToErrors: Bool = false
    ) throws(CofferError) -> Int32 {
        let process = try start(arguments, outputToErrors)
        TerminationSignals.startForwarding(to: process)
        return try ChildProcess.end(of: process)
    }

    /// Starts the program and releases this process's copy of the secrets.
    private consuming func start(
        _ arguments: [[UInt8]], _ outputToErrors: Bool
    ) throws(CofferError) -> pid_t {
        let files = files
        // Keep the files open until the program has started, because their last use in the code is earlier.
        defer { withExtendedLifetime(files) {} }
        let environment = try entries.finish()
        return unsafe try environment.span.withUnsafeBytes { (bytes) throws(CofferError) -> pid_t in
            guard let vector = unsafe clinux_environment(environ, bytes.baseAddress, UInt(bytes.count)) else {
                throw Errno.failure("copy the environment", nil, errno: ENOMEM)
            }
            defer { unsafe free(vector) }
            return unsafe try ChildProcess.start(arguments, environment: vector) { actions in
                for file in files {
                    unsafe posix_spawn_file_actions_adddup2(actions, file.number, file.number)
                }
                guard outputToErrors else { return }
                unsafe posix_spawn_file_actions_adddup2(actions, STDERR_FILENO, STDOUT_FILENO)
            }
        }
    }
}
