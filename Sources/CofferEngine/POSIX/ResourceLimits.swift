import Glibc

/// What the operating system grants this process.
package enum ResourceLimits {
    /// How many bytes of memory may be locked; `nil` for no limit.
    package static var lockableMemory: Int? {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(8), &limit) == 0 else { return 0 }  // RLIMIT_MEMLOCK
        return limit.rlim_cur == rlim_t.max ? nil : Int(clamping: limit.rlim_cur)
    }
}
