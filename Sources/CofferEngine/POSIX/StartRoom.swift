package import CofferBase
import CLinux
import Glibc

/// Whether this process has room to work in, looked at before the language's runtime needs it: where memory
/// runs out, that ends the process by a signal.
package enum StartRoom {
    /// The memory that a short command takes beside what is loaded: heap, stacks and guarded pages.
    private static let memory = 12 << 20
    /// The least with which it gets to its end at all.
    private static let leastMemory = 6 << 20
    /// Of this much and less, a stack of the usual size for each thread would be too much.
    private static let smallLimit = 1 << 30
    private static let smallStack: UInt = 1 << 20
    private static let descriptors = 8
    private static let leastDescriptors = 6

    /// Makes do with less where memory is limited, and refuses to start where it is too little.
    ///
    /// - Parameter isUrgent: Whether to start also where it may turn out to be too little.
    /// - Throws: `outOfMemory`, `refused`; both say which limit to raise.
    package static func check(isUrgent: Bool = false) throws(CofferError) {
        let memory = isUrgent ? leastMemory : memory
        if hasSmallLimit {
            // An arena of memory takes 64 MiB of addresses for each thread, a stack 8.
            mallopt(M_ARENA_MAX, 1)
            clinux_set_default_stack(smallStack)
        }
        let pages = unsafe mmap(nil, memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard unsafe pages != MAP_FAILED else {
            throw CofferError(
                .outOfMemory,
                "There is too little memory to start: raise the limits of address space and data "
                    + "(ulimit -v, ulimit -d).", systemError: Errno.current)
        }
        unsafe munmap(pages, memory)
        try checkDescriptors(isUrgent ? leastDescriptors : descriptors)
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
                    .refused, "Too few files may be open: raise the limit of descriptors (ulimit -n).",
                    systemError: Errno.current)
            }
            copies.append(copy)
        }
    }

    /// Refuses what cannot do without threads of libdispatch or GLib, which wait for ever for one, or end the
    /// process, where there is none or no /proc to look for them in.
    ///
    /// - Throws: `refused`, `unsupported`.
    package static func requireThreads() throws(CofferError) {
        guard unsafe access("/proc/self/task", F_OK) == 0 else {
            throw CofferError(.unsupported, "This needs /proc to be mounted.")
        }
        guard Threads.canStart(threads) else {
            throw CofferError(
                .refused, "Too few threads may be started: raise the limit of processes (ulimit -u).")
        }
    }

    /// The pool's, the one that watches it, and some with a queue or a library of their own.
    private static var threads: Int { min(Environment.processors, 8) + 4 }
}
