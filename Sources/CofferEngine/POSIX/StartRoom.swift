package import CofferBase
import CLinux
import Glibc

/// Checks whether this process has enough resources before the Swift runtime needs them: when memory runs
/// out, the runtime ends the process by a signal.
package enum StartRoom {
    /// The memory that a short command needs in addition to the loaded program: heap, stacks and guarded
    /// pages.
    private static let memory = 12 << 20
    /// The least memory with which a command can finish at all.
    private static let leastMemory = 6 << 20
    /// The memory that a command needs to report an error as text and as JSON.
    private static let reportMemory = 4 << 20
    /// The memory limit below which stacks of the usual size for all threads would be too large.
    private static let smallLimit = 1 << 30
    private static let smallStack: UInt = 1 << 20
    private static let descriptors = 8
    private static let leastDescriptors = 6

    /// Reduces memory use if memory is limited, and throws if there is too little memory or too few
    /// descriptors.
    ///
    /// - Parameter isUrgent: Whether to start even if the memory may prove insufficient.
    /// - Throws: `outOfMemory`, `refused`; the message of each names the limit to raise.
    package static func check(isUrgent: Bool = false) throws(CofferError) {
        let memory = isUrgent ? leastMemory : memory
        if hasSmallLimit {
            // For each thread, a malloc arena takes 64 MiB of address space, and a stack 8 MiB.
            mallopt(M_ARENA_MAX, 1)
            clinux_set_default_stack(smallStack)
        }
        guard canMap(memory) else {
            throw CofferError(.outOfMemory, "\(noMemory)", systemError: Errno.current)
        }
        try checkDescriptors(isUrgent ? leastDescriptors : descriptors)
    }

    private static let noMemory: StaticString = """
        There is not enough memory to start: raise the limits on address space and data (ulimit -v, \
        ulimit -d).
        """

    /// Ends the process with exit code 1 if there is too little memory even to report an error in the usual
    /// way. Writes the message after `prefix` to standard error and, inside `document`, to standard output.
    /// Allocates nothing.
    package static func endIfUnableToReport(
        before prefix: StaticString, document: (before: StaticString, after: StaticString)?
    ) {
        guard !canMap(reportMemory) else { return }
        write([prefix, noMemory, "\n"], to: STDERR_FILENO)
        if let document { write([document.before, noMemory, document.after], to: STDOUT_FILENO) }
        _exit(1)
    }

    private static func write(_ texts: [3 of StaticString], to stream: Int32) {
        for index in texts.indices {
            _ = unsafe Glibc.write(stream, texts[index].utf8Start, texts[index].utf8CodeUnitCount)
        }
    }

    private static func canMap(_ count: Int) -> Bool {
        let pages = unsafe mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard unsafe pages != MAP_FAILED else { return false }
        unsafe munmap(pages, count)
        return true
    }

    private static var hasSmallLimit: Bool {
        [RLIMIT_AS, RLIMIT_DATA].contains { resource in
            var limit = rlimit()
            return unsafe getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0
                && limit.rlim_cur < rlim_t(smallLimit)
        }
    }

    private static func checkDescriptors(_ count: Int) throws(CofferError) {
        var copies: [CInt] = []
        defer { for copy in copies { _ = Glibc.close(copy) } }
        for _ in 0..<count {
            let copy = clinux_fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
            guard copy >= 0 else {
                throw CofferError(
                    .refused,
                    "This process may not open enough files: raise the descriptor limit (ulimit -n).",
                    systemError: Errno.current)
            }
            copies.append(copy)
        }
    }

    /// Throws if the threads that libdispatch and GLib need cannot be started, or if /proc is not mounted.
    /// The libraries would otherwise wait forever for a thread, or end the process.
    ///
    /// - Throws: `refused`, `unsupported`.
    package static func requireThreads() throws(CofferError) {
        guard unsafe access("/proc/self/task", F_OK) == 0 else {
            throw CofferError(.unsupported, "Mount /proc, which this operation needs.")
        }
        guard Threads.canStart(threads) else {
            throw CofferError(
                .refused,
                "This process may not start enough threads: raise the process limit (ulimit -u).")
        }
    }

    /// The number of threads to require: those of the pool, the one that watches it, and some that belong to
    /// separate queues or libraries.
    private static var threads: Int { min(Environment.processors, 8) + 4 }
}
