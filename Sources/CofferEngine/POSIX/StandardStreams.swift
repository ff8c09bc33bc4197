package import CofferBase
import Glibc
import CLinux
import SystemPackage

extension Descriptor {
    /// Takes ownership of a descriptor that was open when this process started. Rejects a descriptor that
    /// this process opened itself, which `O_CLOEXEC` identifies. Duplicates a standard stream instead, so the
    /// stream stays open for later use.
    package static func inherited(_ number: Int32) throws(CofferError) -> Descriptor {
        let flags = clinux_fcntl(number, F_GETFD, 0)
        guard flags >= 0, flags & FD_CLOEXEC == 0 else {
            throw notOpen(number)
        }
        return number > STDERR_FILENO ? try adopting(number) : try duplicating(number)
    }

    /// Duplicates the descriptor with the given number, which stays open for its owner. Use this method for
    /// the standard streams and for descriptors that the caller shares with other code.
    package static func duplicating(_ number: Int32) throws(CofferError) -> Descriptor {
        let copy = clinux_fcntl(number, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw notOpen(number, systemError: Errno.current) }
        return Descriptor(raw: copy, path: FilePath(streamName(number) ?? "descriptor \(number)"))
    }

    /// Returns the name of a standard stream, or `nil` for any other descriptor.
    private static func streamName(_ number: Int32) -> String? {
        switch number {
        case STDIN_FILENO: "standard input"
        case STDOUT_FILENO: "standard output"
        case STDERR_FILENO: "standard error"
        default: nil
        }
    }

    private static func notOpen(_ number: Int32, systemError: Int32? = nil) -> CofferError {
        let message =
            streamName(number).map { "Cannot use \($0): the stream is not open." }
            ?? "File descriptor \(number) is not open."
        return CofferError(.invalidInput, message, systemError: systemError)
    }

    /// Returns a duplicate of standard input.
    package static func standardInput() throws(CofferError) -> Descriptor { try duplicating(STDIN_FILENO) }

    /// Returns a duplicate of standard output.
    package static func standardOutput() throws(CofferError) -> Descriptor { try duplicating(STDOUT_FILENO) }

    /// Returns a duplicate of standard error.
    package static func standardError() throws(CofferError) -> Descriptor { try duplicating(STDERR_FILENO) }

    /// Writes a message to standard error and ignores failures. A process that can open no further descriptor
    /// can still say so.
    package static func writeMessage(_ bytes: Span<UInt8>) {
        if let stream = try? standardError() {
            try? stream.append(bytes)
        } else {
            unsafe bytes.withPointer { start in
                var done = 0
                while done < bytes.count {
                    let count = unsafe Glibc.write(STDERR_FILENO, start + done, bytes.count - done)
                    guard count > 0 || count < 0 && Errno.current == EINTR else { return }
                    done += max(count, 0)
                }
            }
        }
    }
}
