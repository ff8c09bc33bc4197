// What the thread sanitizer has to be told; Scripts/sanitize links it into every program that it builds for
// it.
//
// Synchronization.Mutex is a word that is exchanged atomically, which the sanitizer sees, and, when two
// threads meet, a call into the toolchain's library and the kernel, which it does not see. Here those two
// functions of the library say what they order: all that came before an unlock has happened before whatever
// follows the next lock.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

void __tsan_acquire(void *address) __attribute__((weak));
void __tsan_release(void *address) __attribute__((weak));

// A program's end does not wait a second for threads that might still find something: hundreds are started.
const char *__tsan_default_options(void) {
    return "atexit_sleep_ms=0";
}

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

#define METHOD __attribute__((swiftcall)) void
#define SELF __attribute__((swift_context)) void *

typedef METHOD Lock(uint32_t thread, SELF mutex);
typedef METHOD Unlock(SELF mutex);

METHOD lock_slow(uint32_t thread, SELF mutex) __asm__(LOCK);
METHOD unlock_slow(SELF mutex) __asm__(UNLOCK);

METHOD lock_slow(uint32_t thread, SELF mutex) {
    static _Atomic(Lock *) original;
    if (!original) original = (Lock *)dlsym(RTLD_NEXT, LOCK);
    original(thread, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

METHOD unlock_slow(SELF mutex) {
    static _Atomic(Unlock *) original;
    if (!original) original = (Unlock *)dlsym(RTLD_NEXT, UNLOCK);
    if (__tsan_release) __tsan_release(mutex);
    original(mutex);
}
