#if !defined(__x86_64__) && !defined(__aarch64__)

#include "CSHA2.h"

bool csha2_available(void) { return false; }

void csha2_compress(uint32_t state[8], const uint8_t block[64]) {
    (void)state;
    (void)block;
}

void csha2_pbkdf2_rounds(const uint32_t inner[8], const uint32_t outer[8], uint32_t *u,
                         uint32_t *total, unsigned blocks, uint32_t rounds) {
    (void)inner;
    (void)outer;
    (void)u;
    (void)total;
    (void)blocks;
    (void)rounds;
}

#endif
