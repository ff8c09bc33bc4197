package import CofferBase
import Dispatch
import Glibc

/// Operations on the benchmark's own process.
package enum OwnProcess {
    /// The executable's path, without symbolic links.
    package static func executable() throws(CofferError) -> String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink("/proc/self/exe", &buffer, buffer.count)
        try PeerFailure.check(count > 0 && count < buffer.count, "readlink of /proc/self/exe")
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Sets a variable of this process's environment, before other threads read it.
    package static func setEnvironment(_ name: String, _ value: String) { unsafe setenv(name, value, 1) }

    /// Replaces this process with another program; returns only on failure.
    package static func become(_ path: String, _ arguments: [String]) -> CofferError {
        let strings = ArgumentVector([path] + arguments)
        unsafe execv(path, strings.pointers)
        return PeerFailure.failed("execv of \(path)")
    }

    /// Runs `arguments[0]` from PATH with this process's own input and error output, and its output
    /// redirected to the error output. Returns whether it succeeded.
    package static func runShown(_ arguments: [String]) -> Bool {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
        let strings = ArgumentVector(arguments)
        var process: pid_t = 0
        guard unsafe posix_spawnp(&process, arguments[0], &actions, nil, strings.pointers, environ) == 0
        else {
            return false
        }
        var status: CInt = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status == 0
    }

    /// The processor time of all threads of this process, in seconds.
    package static var processorTime: Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Resets the process's peak of resident memory to its current size; returns whether the kernel did so.
    package static func resetPeakMemory() -> Bool {
        guard let file = unsafe fopen("/proc/self/clear_refs", "w") else { return false }
        let written = unsafe fputs("5\n", file)
        return unsafe fclose(file) == 0 && written >= 0
    }

    /// Kept so that they live as long as the process. `nonisolated(unsafe)` holds because only the one thread
    /// that runs the benchmarks adds to it and no code reads it.
    private nonisolated(unsafe) static var sources: [any DispatchSourceSignal] = []

    /// Runs `clean` and ends the process when it is interrupted or terminated.
    package static func onInterrupt(_ clean: @escaping @Sendable () -> Void) {
        for number in [SIGINT, SIGTERM] {
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                clean()
                _exit(128 + number)
            }
            source.resume()
            unsafe sources.append(source)
        }
    }

    /// Writes a line to the error output.
    package static func note(_ text: String) { write("bench: \(text)\n", to: STDERR_FILENO) }

    /// Writes a line to the output, unbuffered.
    package static func show(_ line: String) { write(line + "\n", to: STDOUT_FILENO) }

    private static func write(_ text: String, to descriptor: CInt) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            guard count > 0 || errno == EINTR else { return }
            rest = rest.dropFirst(max(count, 0))
        }
    }
}
