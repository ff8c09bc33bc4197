import CLinux
import Glibc

extension Descriptor {
    /// The outcome of asking for a lease.
    package enum Lease: Sendable {
        /// Nobody has the file open for writing; who wants to waits until the lease is given back.
        case held
        /// Somebody has it open for writing, or mapped.
        case hasWriters
        /// The kernel grants none here: another user's file, or a file system without leases.
        case unavailable
    }

    /// Takes a lease against writers on this file, which is open for reading alone. See fcntl(2), F_SETLEASE.
    package func leaseAgainstWriters() -> Lease {
        // F_SETSIG: a signal that nobody minds instead of SIGIO, which ends the process.
        guard clinux_fcntl(raw, 10, CLong(SIGURG)) == 0 else { return .unavailable }
        if clinux_fcntl(raw, 1024, CLong(F_RDLCK)) == 0 { return .held }  // F_SETLEASE
        return Errno.current == EAGAIN ? .hasWriters : .unavailable
    }

    /// Whether a lease is still held that nobody waits for.
    package var isLeaseUnbroken: Bool { clinux_fcntl(raw, 1025, 0) == CInt(F_RDLCK) }  // F_GETLEASE

    /// Releases the lease.
    package func releaseLease() { _ = clinux_fcntl(raw, 1024, CLong(F_UNLCK)) }
}
