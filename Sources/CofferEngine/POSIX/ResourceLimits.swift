import Glibc

/// The limits that the operating system sets for this process.
package enum ResourceLimits {
    /// The number of bytes of memory that this process may lock, or `nil` if there is no limit.
    package static var lockableMemory: Int? {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(8), &limit) == 0 else { return 0 }  // RLIMIT_MEMLOCK
        return limit.rlim_cur == rlim_t.max ? nil : Int(clamping: limit.rlim_cur)
    }
}
