// SHA-256's compression function by the processor's own instructions, arranged for PBKDF2.
//
// OpenSSL has the same instructions but offers no way to run two independent chains side by side, nor to
// keep a chain's state in registers from one round to the next.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Whether this processor has the instructions; without them nothing below may be called.
bool csha2_available(void);

// One block of 64 bytes (FIPS 180-4 section 6.2.2).
void csha2_compress(uint32_t state[8], const uint8_t block[64]);

// Both functions leave nothing of what they computed with on the stack or in vector registers.

// The rounds of PBKDF2-HMAC-SHA256 (RFC 8018 section 5.2) after the first, for one or two output blocks.
//
// inner and outer are the states after the key's two pads. u holds each block's U of the round before, total
// what the U of all rounds so far come to by exclusive or; eight words for each block, both updated.
void csha2_pbkdf2_rounds(const uint32_t inner[8], const uint32_t outer[8], uint32_t *u, uint32_t *total,
                         unsigned blocks, uint32_t rounds);
