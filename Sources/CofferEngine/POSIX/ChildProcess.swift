import CLinux
package import CofferBase
import Glibc

/// Functions that run other programs and wait for them to end. A program inherits standard input, output and
/// error, and no other descriptor of this package unless requested. It also inherits what the caller or other
/// libraries opened without close-on-exec.
package enum ChildProcess {
    /// Runs the program `arguments[0]`, which is looked up in PATH, and waits for it to end. While the
    /// program runs, forwards the signals that ``TerminationSignals`` holds to it.
    ///
    /// - Parameters:
    ///   - arguments: The program's name and arguments.
    ///   - outputToErrors: Whether the program's standard output goes to standard error.
    ///   - inheriting: The numbers of open descriptors that the program inherits under the same numbers.
    ///   - limit: The maximum time that the program may run, or `nil` for no limit. After that time, the
    ///     program is asked to end, and it is killed if it does not end within two seconds.
    /// - Returns: The program's exit code, or 128 + the signal's number if a signal ended the program.
    /// - Throws: `timedOut` if the program was ended at the limit, regardless of its exit code;
    ///   `invalidInput` if the command is invalid or does not specify a program that can be run; any other
    ///   error that occurs while starting the program.
    package static func run(
        _ arguments: [[UInt8]], outputToErrors: Bool = false, inheriting: [Int32] = [],
        limit: Duration? = nil
    ) throws(CofferError) -> Int32 {
        let process = unsafe try start(arguments) { actions in
            for number in inheriting { unsafe posix_spawn_file_actions_adddup2(actions, number, number) }
            guard outputToErrors else { return }
            unsafe posix_spawn_file_actions_adddup2(actions, STDERR_FILENO, STDOUT_FILENO)
        }
        TerminationSignals.startForwarding(to: process)
        let isInTime = try limit.map { (limit) throws(CofferError) in
            try hasEnded(process, before: Clock.sinceBoot + limit)
        }
        let code = try end(of: process)
        guard isInTime ?? true else {
            throw CofferError(.timedOut, "The command exceeded the time limit and was stopped.")
        }
        return code
    }

    private static let grace = Duration.seconds(2)

    /// Waits until the program has ended, or ends the program when `end` is reached. Returns whether the
    /// program ended by itself.
    private static func hasEnded(_ process: pid_t, before end: Duration) throws(CofferError) -> Bool {
        var end = end
        var signals = [SIGKILL, SIGTERM]
        while try !hasExited(process) {
            if Clock.sinceBoot >= end, let signal = signals.popLast() {
                kill(process, signal)
                end = Clock.sinceBoot + grace
            }
            Clock.sleep(for: .milliseconds(10))
        }
        return signals.count == 2
    }

    /// Reports whether the program has ended. The program keeps its process id until this process waits for
    /// it.
    static func hasExited(_ process: pid_t) throws(CofferError) -> Bool {
        var information = unsafe siginfo_t()
        unsafe clinux_clear_process(&information)
        while unsafe waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT | WNOHANG) < 0 {
            guard Errno.current == EINTR else { throw Errno.failure("wait for the command", nil) }
        }
        return unsafe clinux_process(&information) != 0
    }

    /// Starts the program with this process's environment. The closure `prepare` sets up the program's
    /// descriptors.
    static func start(
        _ arguments: [[UInt8]], inOwnSession: Bool = false,
        _ prepare: (UnsafeMutablePointer<posix_spawn_file_actions_t>) -> Void
    ) throws(CofferError) -> pid_t {
        unsafe try start(arguments, environment: environ, inOwnSession: inOwnSession, prepare)
    }

    /// Starts the program with the given environment, which is a null-terminated vector. In a session of its
    /// own, the program receives no signals from the terminal.
    static func start(
        _ arguments: [[UInt8]], environment: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
        inOwnSession: Bool = false,
        _ prepare: (UnsafeMutablePointer<posix_spawn_file_actions_t>) -> Void
    ) throws(CofferError) -> pid_t {
        let vector = unsafe try copied(arguments)
        defer { unsafe vector.forEach { unsafe free($0) } }
        guard let name = unsafe vector.first ?? nil else {
            throw Errno.failure("copy the command", nil, errno: ENOMEM)
        }
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe prepare(&actions)
        var process: pid_t = 0
        let status = unsafe withSignalsUnblocked(inOwnSession: inOwnSession) { attributes in
            unsafe posix_spawnp(&process, name, &actions, attributes, vector, environment)
        }
        guard status == 0 else { throw notStarted(arguments, status) }
        return process
    }

    /// Replaces this process with the program. Does not return if the program starts.
    ///
    /// - Throws: The system's error if the program cannot be started.
    static func become(_ arguments: [[UInt8]]) throws(CofferError) {
        let vector = unsafe try copied(arguments)
        defer { unsafe vector.forEach { unsafe free($0) } }
        guard let name = unsafe vector.first ?? nil else {
            throw Errno.failure("copy the command", nil, errno: ENOMEM)
        }
        unsafe execvp(name, vector)
        throw notStarted(arguments, Errno.current)
    }

    /// Starts the program with the given descriptors as its standard input and output. If the calling thread
    /// ends first, for example because this process is killed, the kernel sends SIGTERM to the program.
    static func startBound(
        _ arguments: [[UInt8]], input: CInt, output: CInt
    ) throws(CofferError) -> pid_t {
        let vector = unsafe try copied(arguments)
        defer { unsafe vector.forEach { unsafe free($0) } }
        guard let name = unsafe vector.first ?? nil else {
            throw Errno.failure("copy the command", nil, errno: ENOMEM)
        }
        let process = unsafe clinux_spawn_bound(name, vector, input, output)
        guard process > 0 else { throw notStarted(arguments, Errno.current) }
        return process
    }

    /// Copies the arguments to a null-terminated vector of C strings. The caller must free the strings.
    private static func copied(
        _ arguments: [[UInt8]]
    ) throws(CofferError) -> [UnsafeMutablePointer<CChar>?] {
        guard !arguments.isEmpty, arguments.allSatisfy({ !$0.contains(0) }) else {
            throw CofferError(
                .invalidInput, "A command must have a name, and its arguments must not contain NUL bytes.")
        }
        return unsafe arguments.map { argument in
            unsafe (argument + [0]).withUnsafeBytes { bytes in
                unsafe bytes.baseAddress.map { unsafe strdup($0.assumingMemoryBound(to: CChar.self)) } ?? nil
            }
        } + [nil]
    }

    /// The exit code of a command that only runs another one, if that one does not exist. POSIX gives this
    /// code to `env` and the shell.
    package static let notFoundCode: Int32 = 127
    /// The same, if the other one exists and cannot be run.
    package static let notExecutableCode: Int32 = 126

    /// Returns the exit code of a command that only runs another one and fails with this error of ``run``, or
    /// `nil` for an error that does not come from the other one's name.
    package static func exitCode(ofFailedStart error: CofferError) -> Int32? {
        guard error.code == .invalidInput, let number = error.systemError else { return nil }
        return number == ENOENT ? notFoundCode : notExecutableCode
    }

    /// Returns `invalidInput` for a name that is not that of a runnable program, regardless of the system's
    /// error: `absent` would mean that a part of the vault is missing.
    private static func notStarted(_ arguments: [[UInt8]], _ number: Int32) -> CofferError {
        let program = String(decoding: arguments.first ?? [], as: UTF8.self)
        let failure = Errno.failure("run \(program)", nil, errno: number)
        switch number {
        case ENOENT, EACCES, EPERM, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, ENOEXEC:
            return CofferError(
                .invalidInput,
                failure.message + " Specify the path of a program, or the name of a program in PATH.",
                systemError: number)
        default: return failure
        }
    }

    /// Waits for the program and returns its exit code. The program keeps its process id until no more
    /// signals can be sent to it.
    static func end(of process: pid_t) throws(CofferError) -> Int32 {
        defer { TerminationSignals.stopForwarding() }
        var information = unsafe siginfo_t()
        while unsafe waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) < 0 {
            guard Errno.current == EINTR else { throw Errno.failure("wait for the command", nil) }
        }
        TerminationSignals.stopForwarding()
        var result: Int32 = 0
        while unsafe waitpid(process, &result, 0) < 0 {
            guard Errno.current == EINTR else { throw Errno.failure("wait for the command", nil) }
        }
        return clinux_exit_code(result)
    }

    /// Calls `body` with spawn attributes under which the child blocks no signals. A child inherits the
    /// signal mask of the thread that creates it, and the threads of a dispatch queue block every signal. The
    /// child would otherwise ignore an interrupt from the terminal.
    private static func withSignalsUnblocked(
        inOwnSession: Bool, _ body: (UnsafePointer<posix_spawnattr_t>) -> Int32
    ) -> Int32 {
        var attributes = posix_spawnattr_t()
        var none = sigset_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        // 0x80 is POSIX_SPAWN_SETSID, which requires _GNU_SOURCE.
        unsafe posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK) | (inOwnSession ? 0x80 : 0))
        return unsafe body(&attributes)
    }
}
