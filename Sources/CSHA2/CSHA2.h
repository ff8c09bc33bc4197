// SHA-256's compression function with the processor's own instructions, arranged for PBKDF2.
//
// OpenSSL has the same instructions but offers no way to run two independent chains in parallel, or to keep a
// chain's state in registers from one round to the next.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Returns whether this processor has the instructions; without them, call nothing below.
bool csha2_available(void);

// Compresses one 64-byte block (FIPS 180-4 section 6.2.2).
void csha2_compress(uint32_t state[8], const uint8_t block[64]);

// Neither function leaves intermediate values on the stack or in vector registers.

// Runs the PBKDF2-HMAC-SHA256 rounds (RFC 8018 section 5.2) after the first, for one or two output blocks.
//
// inner and outer are the states after the key's two pads. For each block, u has the eight words of the
// previous round's U value, and total the exclusive or of the U values from all rounds so far; both are
// updated.
void csha2_pbkdf2_rounds(const uint32_t inner[8], const uint32_t outer[8], uint32_t *u, uint32_t *total,
                         unsigned blocks, uint32_t rounds);
