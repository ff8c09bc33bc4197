import CofferBase
import CofferEngine

/// Whether a decrypted copy may take so much memory.
enum MemoryBudget {
    /// Refuses what would take more than half of what is free, in the file system and in the machine.
    ///
    /// - Parameters:
    ///   - length: The size of the copy.
    ///   - free: Free bytes of the file system; `nil` for a file that has none around it.
    ///   - memory: Free memory of the machine, where the kernel tells.
    /// - Throws: `noSpace`.
    static func check(
        _ length: Int64, inFileSystem free: Int64?, memory: Int64? = FileSystemInfo.availableMemory()
    ) throws(CofferError) {
        let room = min(free ?? .max, memory ?? .max)
        guard length <= room / 2 else {
            throw CofferError(
                .noSpace,
                "A copy of \(length) bytes would take more than half of the free memory: "
                    + "coffer file cat or coffer file export need no such room.")
        }
    }
}
