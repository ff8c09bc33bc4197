/*
 * Finds pieces of secrets in a copy of a process's memory: a library that last_memory.py loads.
 *
 *     cc -O2 -fPIC -shared -o memscan.so memscan.c
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 8

static uint64_t mix(uint64_t piece) {
    piece *= 0x9E3779B97F4A7C15u;
    return piece ^ piece >> 29;
}

/*
 * Looks for every piece of eight bytes at every place. Fills `places` and `which` (the piece's number) with
 * at most `limit` hits and returns how many there are; a negative number if there is no memory for the
 * search.
 */
long memscan(const uint8_t *data, long size, const uint8_t *pieces, long count, long *places, long *which,
             long limit) {
    uint64_t bits = 10;
    while ((1L << bits) < count * 8) bits++;
    uint64_t mask = (1L << bits) - 1;
    long *table = malloc(sizeof *table << bits);
    uint8_t *first = calloc(1 << 16, 1);
    if (!table || !first) return -1;
    memset(table, -1, sizeof *table << bits);
    for (long index = 0; index < count; index++) {
        uint64_t piece;
        memcpy(&piece, pieces + index * PIECE, PIECE);
        first[(uint16_t)piece] = 1;
        uint64_t slot = mix(piece) & mask;
        while (table[slot] >= 0) slot = (slot + 1) & mask;
        table[slot] = index;
    }
    long found = 0;
    for (long place = 0; place + PIECE <= size; place++) {
        uint64_t piece;
        memcpy(&piece, data + place, PIECE);
        if (!first[(uint16_t)piece]) continue;
        for (uint64_t slot = mix(piece) & mask; table[slot] >= 0; slot = (slot + 1) & mask) {
            if (memcmp(pieces + table[slot] * PIECE, &piece, PIECE)) continue;
            if (found < limit) {
                places[found] = place;
                which[found] = table[slot];
            }
            found++;
            break;
        }
    }
    free(table);
    free(first);
    return found;
}
