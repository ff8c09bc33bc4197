package import CofferBase
import Glibc
import CLinux
import SystemPackage

extension Descriptor {
    /// A file without a name that holds `bytes` and lies in memory: for code that reads files, given bytes.
    package static func inMemory(_ bytes: Span<UInt8>) throws(CofferError) -> Descriptor {
        let raw = unsafe clinux_memfd_create("coffer")
        guard raw >= 0 else { throw Errno.failure("make", "a file in memory") }
        let file = Descriptor(raw: raw, path: "memory")
        try file.write(bytes, at: 0)
        return file
    }
}
