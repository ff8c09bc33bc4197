import Glibc

/// A result that one thread sets once and another waits for.
///
/// The deadline goes by the monotonic clock. A semaphore of libdispatch waits until a time of day on Linux,
/// so setting the system's clock would end the wait at once, or prolong it by hours.
///
/// `@unchecked Sendable` holds because every access to the value holds the mutex.
@safe package final class AwaitedResult<Value: Sendable>: @unchecked Sendable {
    @unsafe private struct Lock {
        var mutex = unsafe pthread_mutex_t()
        var condition = pthread_cond_t()
    }

    /// The kernel knows a waiting thread by these addresses, so they never move.
    private let lock: UnsafeMutablePointer<Lock>
    private var value: Value?

    package init() {
        unsafe lock = .allocate(capacity: 1)
        unsafe lock.initialize(to: Lock())
        unsafe pthread_mutex_init(&lock.pointee.mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(&lock.pointee.condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(&lock.pointee.condition)
        unsafe pthread_mutex_destroy(&lock.pointee.mutex)
        unsafe lock.deallocate()
    }

    /// Sets the result and wakes the waiting thread.
    package func set(_ new: Value) {
        unsafe pthread_mutex_lock(&lock.pointee.mutex)
        value = new
        unsafe pthread_cond_broadcast(&lock.pointee.condition)
        unsafe pthread_mutex_unlock(&lock.pointee.mutex)
    }

    /// Waits for the result. Returns `nil` if it is not there at the deadline.
    package func wait(_ deadline: Duration) -> Value? {
        let (seconds, attoseconds) = deadline.components
        var end = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &end)
        end.tv_nsec += Int(attoseconds / 1_000_000_000)
        // A hundred years are for ever.
        end.tv_sec += Int(min(seconds, 100 * 365 * 86_400)) + end.tv_nsec / 1_000_000_000
        end.tv_nsec %= 1_000_000_000
        unsafe pthread_mutex_lock(&lock.pointee.mutex)
        defer { unsafe pthread_mutex_unlock(&lock.pointee.mutex) }
        var status: CInt = 0
        while value == nil, status == 0 {
            status = unsafe pthread_cond_timedwait(&lock.pointee.condition, &lock.pointee.mutex, &end)
        }
        return value
    }
}
