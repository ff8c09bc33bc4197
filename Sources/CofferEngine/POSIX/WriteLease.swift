import CLinux
import Glibc

extension Descriptor {
    /// The outcome of a lease request.
    package enum Lease: Sendable {
        /// No process has the file open for writing. A process that tries to open the file for writing waits
        /// until the lease is released.
        case held
        /// A process has the file open for writing or has mapped it.
        case hasWriters
        /// The kernel does not grant a lease, because the file belongs to another user or its file system
        /// does not support leases.
        case unavailable
    }

    /// Requests a lease against writers on this file, which must be open only for reading. The entry for
    /// F_SETLEASE in fcntl(2) describes such leases.
    package func leaseAgainstWriters() -> Lease {
        // F_SETSIG: a signal that is ignored by default, instead of SIGIO, which ends the process.
        guard clinux_fcntl(raw, 10, CLong(SIGURG)) == 0 else { return .unavailable }
        if clinux_fcntl(raw, 1024, CLong(F_RDLCK)) == 0 { return .held }  // F_SETLEASE
        return Errno.current == EAGAIN ? .hasWriters : .unavailable
    }

    /// Whether the lease is still held and no process is waiting for its release.
    package var isLeaseUnbroken: Bool { clinux_fcntl(raw, 1025, 0) == CInt(F_RDLCK) }  // F_GETLEASE

    /// Releases the lease.
    package func releaseLease() { _ = clinux_fcntl(raw, 1024, CLong(F_UNLCK)) }
}
