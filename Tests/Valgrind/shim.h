#pragma once
#include <stddef.h>

// What a program tells the valgrind that it runs under. Without valgrind's headers nothing is told.
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>

static inline int probe_is_watched(void) { return RUNNING_ON_VALGRIND != 0; }

// From now on, a branch or an address that depends on these bytes is reported.
static inline void probe_poison(void *start, size_t count) {
    (void)VALGRIND_MAKE_MEM_UNDEFINED(start, count);
}

// What follows from these bytes is public.
static inline void probe_publish(void *start, size_t count) {
    (void)VALGRIND_MAKE_MEM_DEFINED(start, count);
}
#else
static inline int probe_is_watched(void) { return 0; }
static inline void probe_poison(void *start, size_t count) { (void)start; (void)count; }
static inline void probe_publish(void *start, size_t count) { (void)start; (void)count; }
#endif
