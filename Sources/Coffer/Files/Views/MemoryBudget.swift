import CofferBase
import CofferEngine

/// The limit on the memory that a decrypted copy may use.
enum MemoryBudget {
    /// Throws an error if a copy would use more than half of the free space in the file system or in the
    /// machine's memory.
    ///
    /// - Parameters:
    ///   - length: The copy's size in bytes.
    ///   - free: The number of free bytes in the file system; `nil` for a file outside any file system.
    ///   - memory: The number of free bytes in the machine's memory; `nil` if the kernel does not report it.
    /// - Throws: `noSpace` if the copy is too large.
    static func check(
        _ length: Int64, inFileSystem free: Int64?, memory: Int64? = FileSystemInfo.availableMemory()
    ) throws(CofferError) {
        let available = min(free ?? .max, memory ?? .max)
        guard length <= available / 2 else {
            throw CofferError(
                .noSpace,
                "The copy could not be created because a copy of \(length) bytes would take more than half "
                    + "of the free memory.",
                remedy: .readWithoutCopy)
        }
    }
}
