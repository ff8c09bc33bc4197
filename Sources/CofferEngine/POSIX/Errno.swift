package import CofferBase
import Glibc
import CLinux
package import SystemPackage

/// The conversion of `errno` to a typed error for every system call.
package enum Errno {
    /// The calling thread's `errno`.
    package static var current: Int32 { clinux_errno() }

    /// Returns the result of `call`, repeating it while a signal interrupts it.
    static func uninterrupted(_ call: () -> CInt) -> CInt {
        while true {
            let result = call()
            guard result < 0, current == EINTR else { return result }
        }
    }

    /// Returns whether the process or the system had no descriptor left.
    package static func isLackOfDescriptors(_ error: CofferError) -> Bool {
        error.systemError == EMFILE || error.systemError == ENFILE
    }

    /// Returns the error to throw when `action` on `path` has failed with the given `errno`.
    package static func failure(_ action: String, _ path: FilePath?, errno number: Int32 = current)
        -> CofferError
    {
        let place = path.map { " \($0)" } ?? ""
        let reason = unsafe String(cString: strerror(number))
        if number == ENOENT, path?.starts(with: "/proc") == true, unsafe access("/proc/self", F_OK) != 0 {
            return CofferError(
                .unsupported,
                "Cannot \(action)\(place): \(reason). This operation requires /proc. Mount /proc, then "
                    + "try again.",
                systemError: number)
        }
        let remedy =
            switch number {
            case EMFILE: " Raise the descriptor limit (ulimit -n)."
            case EFBIG: " Raise the file size limit (ulimit -f), or use another file system."
            default: ""
            }
        return CofferError(code(number), "Cannot \(action)\(place): \(reason).\(remedy)", systemError: number)
    }

    private static func code(_ number: Int32) -> CofferError.Code {
        switch number {
        case ENOENT: .absent
        case EEXIST, ENOTEMPTY: .alreadyExists
        case ENOSPC, EDQUOT, EFBIG: .noSpace
        case EROFS: .readOnly
        case EACCES, EPERM: .permissionDenied
        case EISDIR, ENOTDIR, ELOOP: .refused
        case ENOMEM: .outOfMemory
        case ETIMEDOUT: .timedOut
        case EWOULDBLOCK, EBUSY: .busy
        case ENOSYS, EOPNOTSUPP: .unsupported
        default: .inputOutput
        }
    }
}
