#pragma once
#include <sqlite3.h>
#include <sys/syscall.h>
#include <unistd.h>

// mremap is variadic and hides behind _GNU_SOURCE. With an old size of 0 and MREMAP_MAYMOVE (1), it maps the
// same shared memory once more, elsewhere.
static inline long csqlite_map_again(unsigned long address, unsigned long size) {
    return syscall(SYS_mremap, address, 0UL, size, 1UL, 0UL);
}
