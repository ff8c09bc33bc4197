#define _GNU_SOURCE
#include "CLockedHeap.h"
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

// Before each block; 16 bytes keep blocks aligned as malloc aligns them.
typedef struct {
    size_t size;   // the bytes in use
    size_t space;  // the bytes of the block, without this header
} header;

// A free block holds the address of the next one in its first bytes; all else in it is zero.
typedef struct free_block {
    struct free_block *next;
} free_block;

typedef struct region {
    struct region *next;
    size_t used;
} region;

_Static_assert(sizeof(header) == 16 && sizeof(region) == 16, "blocks must be aligned to 16 bytes");

// Blocks come in powers of two from 64 bytes to 64 KiB, header included; larger ones have pages of their own.
enum { smallest = 6, largest = 16, classes = largest - smallest + 1, region_size = 256 * 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static free_block *shelves[classes];
static region *regions;

static void *map(size_t size) {
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return NULL;
    // Without the right to lock more, the pages are still cleared.
    (void)mlock(pages, size);
    (void)madvise(pages, size, MADV_DONTDUMP);
    return pages;
}

// Takes `total` bytes from the newest region, or from another one. The lock is held.
static void *cut(size_t total) {
    if (regions == NULL || region_size - regions->used < total) {
        region *fresh = map(region_size);
        if (fresh == NULL) return NULL;
        fresh->next = regions;
        fresh->used = sizeof(region);
        regions = fresh;
    }
    void *place = (char *)regions + regions->used;
    regions->used += total;
    return place;
}

static int class_of(size_t total) {
    int exponent = smallest;
    while (((size_t)1 << exponent) < total) exponent++;
    return exponent - smallest;
}

void *coffer_heap_allocate(size_t size) {
    if (size > SIZE_MAX / 2) return NULL;
    size_t total = size + sizeof(header);
    header *block;
    if (total > (size_t)1 << largest) {
        block = map(total);
        if (block == NULL) return NULL;
        block->space = size;
    } else {
        int class = class_of(total);
        total = (size_t)1 << (class + smallest);
        pthread_mutex_lock(&lock);
        free_block *kept = shelves[class];
        if (kept != NULL) {
            shelves[class] = kept->next;
            kept->next = NULL;
            block = (header *)kept - 1;
        } else {
            block = cut(total);
        }
        pthread_mutex_unlock(&lock);
        if (block == NULL) return NULL;
        block->space = total - sizeof(header);
    }
    block->size = size;
    return block + 1;
}

void *coffer_heap_allocate_array(size_t count, size_t size) {
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) return NULL;
    return coffer_heap_allocate(total);
}

void coffer_heap_free(void *address) {
    if (address == NULL) return;
    header *block = (header *)address - 1;
    explicit_bzero(address, block->size);
    size_t total = block->space + sizeof(header);
    if (total > (size_t)1 << largest) {
        munmap(block, total);
        return;
    }
    int class = class_of(total);
    free_block *kept = address;
    pthread_mutex_lock(&lock);
    kept->next = shelves[class];
    shelves[class] = kept;
    pthread_mutex_unlock(&lock);
}

void *coffer_heap_resize(void *address, size_t size) {
    if (address == NULL) return coffer_heap_allocate(size);
    header *block = (header *)address - 1;
    if (size <= block->space) {
        if (size < block->size) explicit_bzero((char *)address + size, block->size - size);
        block->size = size;
        return address;
    }
    void *larger = coffer_heap_allocate(size);
    if (larger == NULL) return NULL;
    memcpy(larger, address, block->size);
    coffer_heap_free(address);
    return larger;
}

char *coffer_heap_copy_text(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = coffer_heap_allocate(size);
    if (copy != NULL) memcpy(copy, text, size);
    return copy;
}

int coffer_heap_contains(const void *address) {
    uintptr_t place = (uintptr_t)address;
    int found = 0;
    pthread_mutex_lock(&lock);
    for (const region *each = regions; each != NULL && !found; each = each->next) {
        found = place - (uintptr_t)each < region_size;
    }
    pthread_mutex_unlock(&lock);
    return found;
}
