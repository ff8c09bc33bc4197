#pragma once
#include <stddef.h>

// A heap for a library that handles secrets in its own buffers, such as libcurl. Its pages are locked in
// memory if the limit allows it and excluded from core dumps, and a block is cleared when it is freed. Any
// thread may use it.

// Returns `size` zero bytes, or null if no memory is available.
void *coffer_heap_allocate(size_t size);

// Returns zero bytes for `count` elements of `size` bytes, or null if no memory is available.
void *coffer_heap_allocate_array(size_t count, size_t size);

// Changes the size of a block, and clears the block if it has to be moved. The new bytes are not defined.
void *coffer_heap_resize(void *block, size_t size);

// Returns a copy of a text, or null if no memory is available.
char *coffer_heap_copy_text(const char *text);

// Clears and frees a block. Null is ignored.
void coffer_heap_free(void *block);

// Returns whether an address belongs to a block of up to 64 KiB of this heap.
int coffer_heap_contains(const void *address);
