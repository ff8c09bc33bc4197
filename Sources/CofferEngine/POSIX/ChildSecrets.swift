import CLinux
package import CofferBase
import Glibc

/// The secrets that one child process gets: as sealed files in memory that it inherits, and as variables of
/// its environment. The variable of a file holds its path.
package struct ChildSecrets: ~Copyable {
    /// The longest entry of an environment that the kernel accepts, MAX_ARG_STRLEN, with its end.
    private static let maxEntryLength = 128 << 10
    private static let maxEnvironmentLength = 1 << 20

    /// A file that stays open here until the child has it.
    private final class File: Sendable {
        private let descriptor: Descriptor

        init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

        var number: Int32 { descriptor.number }
    }

    /// The entries of the environment, each with a NUL behind it.
    private var entries: GuardedBuffer
    private var names: [String] = []
    private var files: [File] = []

    private init(entries: consuming GuardedBuffer) { self.entries = entries }

    /// Creates an empty set.
    package static func make() throws(CofferError) -> ChildSecrets {
        ChildSecrets(entries: try GuardedBuffer.make(limit: maxEnvironmentLength))
    }

    /// Adds a variable of the environment. While the child runs, every process of this user can read it.
    ///
    /// - Parameters:
    ///   - name: The variable.
    ///   - value: Its value.
    /// - Throws: `invalidInput` for a name that is no variable's or was added before, or for a value with a
    ///   NUL byte or too long for a variable.
    package mutating func setVariable(_ name: String, to value: Span<UInt8>) throws(CofferError) {
        for index in value.indices where value[index] == 0 {
            throw CofferError(
                .invalidInput, "The value for \(name) has a NUL byte, which no variable can hold. Use a file."
            )
        }
        guard name.utf8.count + value.count + 2 <= Self.maxEntryLength else {
            throw CofferError(.invalidInput, "The value for \(name) is too long for a variable. Use a file.")
        }
        try add(name, value)
    }

    /// Adds a file, and a variable with its path.
    ///
    /// - Parameters:
    ///   - name: The variable.
    ///   - content: The content of the file, which no process can change.
    /// - Throws: `invalidInput` for a name that is no variable's or was added before; the errors of creating
    ///   a file in memory.
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
                "The name of a variable must be letters, digits and _, and not begin with a digit.")
        }
        guard !names.contains(where: { $0.hasSameBytes(as: name) }) else {
            throw CofferError(.invalidInput, "The variable \(name) is specified twice.")
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

    /// Runs `arguments[0]`, looked up in PATH, with the secrets, and returns its exit code; 128 + number when
    /// a signal ended it. This process has none of the secrets any more while it waits. Forwards the signals
    /// that ``TerminationSignals`` holds to it meanwhile.
    ///
    /// - Parameters:
    ///   - arguments: The name and the arguments.
    ///   - outputToErrors: Whether its standard output goes to standard error.
    /// - Returns: The exit code.
    /// - Throws: `invalidInput` for an invalid command or one that names no program; the error of starting it.
    package consuming func run(
        _ arguments: [[UInt8]], outputToErrors: Bool = false
    ) throws(CofferError) -> Int32 {
        let process = try start(arguments, outputToErrors)
        TerminationSignals.startForwarding(to: process)
        return try ChildProcess.end(of: process)
    }

    /// Starts the program and releases the secrets here.
    private consuming func start(
        _ arguments: [[UInt8]], _ outputToErrors: Bool
    ) throws(CofferError) -> pid_t {
        let files = files
        // Their last use is before the program is started, which must still find them open.
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
