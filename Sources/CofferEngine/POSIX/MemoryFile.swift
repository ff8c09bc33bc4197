package import CofferBase
import Glibc
import CLinux
import SystemPackage

extension Descriptor {
    /// Creates an unnamed in-memory file that contains `bytes`, for code that reads files.
    package static func inMemory(_ bytes: Span<UInt8>) throws(CofferError) -> Descriptor {
        let raw = unsafe clinux_memfd_create("coffer", Self.closeOnExec)
        guard raw >= 0 else { throw Errno.failure("create", "an in-memory file") }
        let file = Descriptor(raw: raw, path: "memory")
        try file.write(bytes, at: 0)
        return file
    }

    private static var closeOnExec: CUnsignedInt { 1 }  // MFD_CLOEXEC
    private static var allowSealing: CUnsignedInt { 2 }  // MFD_ALLOW_SEALING
    /// The value of MFD_NOEXEC_SEAL, which kernels before 6.3 do not support.
    private static var noExecution: CUnsignedInt { 8 }

    /// Creates an empty unnamed in-memory file, which ``seal()`` can protect from changes.
    package static func sealableMemory() throws(CofferError) -> Descriptor {
        for more in [allowSealing | noExecution, allowSealing] {
            let raw = unsafe clinux_memfd_create("coffer", closeOnExec | more)
            if raw >= 0 { return Descriptor(raw: raw, path: "memory") }
            guard Errno.current == EINVAL else { break }
        }
        throw Errno.failure("create", "an in-memory file")
    }

    /// Seals the file. Afterwards, no process can change its content or size, not even this one.
    package func seal() throws(CofferError) {
        // F_ADD_SEALS with SEAL, SHRINK, GROW and WRITE.
        guard clinux_fcntl(raw, 1033, 0b1111) == 0 else { throw Errno.failure("seal", path) }
    }

    /// Opens the same file again, so that it can be read from the beginning.
    package func reopenedForReading() throws(CofferError) -> Descriptor {
        try Descriptor.open(FilePath("/proc/self/fd/\(raw)"), .read)
    }

    /// The descriptor's number in this process, with which the file can be passed to a child or specified by
    /// path.
    package var number: Int32 { raw }

    /// Releases the file. Its number then refers to an empty file, so that it cannot refer to another file by
    /// chance.
    package func replaceWithEmptyFile() {
        let empty = unsafe clinux_memfd_create("coffer", Self.closeOnExec)
        guard empty >= 0 else { return }
        _ = dup2(empty, raw)
        _ = clinux_fcntl(raw, F_SETFD, CLong(FD_CLOEXEC))
        _ = Glibc.close(empty)
    }
}
