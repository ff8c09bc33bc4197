import CofferBase
import Glibc
import CLinux
import SystemPackage

/// The two ends of a new pipe.
struct Pipe: ~Copyable {
    let reader: Descriptor
    let writer: Descriptor

    static func make() throws(CofferError) -> Pipe {
        var ends: [CInt] = [-1, -1]
        guard unsafe ends.withUnsafeMutableBufferPointer({ unsafe clinux_pipe($0.baseAddress) }) == 0
        else { throw Errno.failure("create a pipe", nil) }
        return Pipe(
            reader: Descriptor(raw: ends[0], path: "pipe"), writer: Descriptor(raw: ends[1], path: "pipe"))
    }

    /// Returns the read end and closes the write end.
    consuming func takeReader() -> Descriptor { reader }

    /// Returns the write end and closes the read end.
    consuming func takeWriter() -> Descriptor { writer }
}

/// A way to suppress the signal that would end this process when it writes to a pipe that no process reads.
enum BrokenPipe {
    /// Calls `write` with the signal suppressed and leaves `errno` as `write` set it.
    static func ignoring(_ write: () -> Int) -> Int {
        var signals = sigset_t()
        var former = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, &former)
        let result = write()
        let number = Errno.current
        if result < 0, number == EPIPE {
            // Qualify the type: CLinux imports the same header, but files that do not import CLinux must see
            // Glibc's type.
            var none = Glibc.timespec()
            unsafe sigtimedwait(&signals, nil, &none)
        }
        unsafe pthread_sigmask(SIG_SETMASK, &former, nil)
        Glibc.errno = number
        return result
    }
}
