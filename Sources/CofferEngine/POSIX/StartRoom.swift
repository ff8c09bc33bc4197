package import CofferBase
import CLinux
import Glibc

/// Checks that this process has enough resources before the Swift runtime needs them. The runtime ends the
/// process by a signal when memory runs out.
package enum StartRoom {
    /// The amount of memory in bytes that a short command needs in addition to the loaded program, for its
    /// heap, stacks and guarded pages.
    private static let memory = 12 << 20
    /// The minimum amount of memory in bytes with which a command can finish.
    private static let leastMemory = 6 << 20
    /// The amount of memory in bytes that a command needs to report an error as text and as JSON.
    private static let reportMemory = 4 << 20
    /// The memory limit in bytes below which stacks of the usual size would be too large for all threads.
    private static let smallLimit = 1 << 30
    private static let smallStack: UInt = 1 << 20
    private static let descriptors = 8
    private static let leastDescriptors = 6

    /// Reduces memory use if memory is limited. Throws an error if there is too little memory or if there are
    /// too few descriptors.
    ///
    /// - Parameter isUrgent: Whether to start even if the memory may prove to be insufficient.
    /// - Throws: `outOfMemory` if there is too little memory; `refused` if the process may not open enough
    ///   descriptors. The message specifies the limit to raise.
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
        There is not enough memory to start the program. Raise the limits on address space and data \
        (ulimit -v, ulimit -d).
        """

    /// Ends the process with exit code 1 if there is too little memory to report even an error in the usual
    /// way. Writes `prefix` and the message to standard error and, if `document` is given, writes the message
    /// between the document's two parts to standard output. Allocates no memory.
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
                    "This process cannot open enough files. Raise the descriptor limit (ulimit -n).",
                    systemError: Errno.current)
            }
            copies.append(copy)
        }
    }

    /// Throws an error if the threads that libdispatch and GLib need cannot be started, or if /proc is not
    /// mounted. In that case, these libraries would either wait forever for a thread or end the process.
    ///
    /// - Parameter forBus: Whether the caller only makes calls on a message bus. In a program that creates
    ///   its own threads, these calls need none from libdispatch.
    /// - Throws: `refused` if too few threads can be started; `unsupported` if /proc is not mounted.
    package static func requireThreads(forBus: Bool = false) throws(CofferError) {
        guard unsafe access("/proc/self/task", F_OK) == 0 else {
            throw CofferError(.unsupported, "This operation requires /proc. Mount /proc, then try again.")
        }
        guard Threads.canStart(forBus && Threads.areOwn ? busThreads : threads) else {
            throw CofferError(
                .refused, "This process cannot start enough threads. Raise the process limit (ulimit -u).")
        }
    }

    /// The number of threads to require: those in the pool, the thread that watches the pool, and some
    /// threads for separate queues or libraries.
    private static var threads: Int { min(Environment.processors, 8) + 4 }

    /// The number of threads that calls on a message bus need: GLib's two, the one that watches the
    /// deadline, and one more.
    private static let busThreads = 4
}
