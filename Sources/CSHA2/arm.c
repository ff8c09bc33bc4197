#if defined(__aarch64__)

#include "CSHA2.h"
#include "clear.h"
#include "constants.h"

#include <arm_neon.h>
#include <sys/auxv.h>

#define SHA_TARGET __attribute__((target("sha2")))
#define SHA_WORK __attribute__((noinline)) static SHA_TARGET
#define SHA_INLINE static inline __attribute__((target("sha2"), always_inline))

// HWCAP_SHA2 in <asm/hwcap.h>.
bool csha2_available(void) { return getauxval(AT_HWCAP) & (1UL << 6); }

// The working variables and the message schedule window.
typedef struct {
    uint32x4_t abcd, efgh;
    uint32x4_t w[4];
} chain;

// The 64 steps, four at a time, for each chain in turn so that one computes while the other waits.
SHA_INLINE void steps(chain *chains, const int count) {
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; i++) {
        const uint32x4_t k = vld1q_u32(&csha2_k[4 * i]);
#pragma clang loop unroll(full)
        for (int lane = 0; lane < count; lane++) {
            chain *c = &chains[lane];
            uint32x4_t *w = c->w;
            if (i >= 4)
                w[i & 3] = vsha256su1q_u32(vsha256su0q_u32(w[i & 3], w[(i + 1) & 3]), w[(i + 2) & 3],
                                           w[(i + 3) & 3]);
            const uint32x4_t wk = vaddq_u32(w[i & 3], k), abcd = c->abcd;
            c->abcd = vsha256hq_u32(abcd, c->efgh, wk);
            c->efgh = vsha256h2q_u32(c->efgh, abcd, wk);
        }
    }
}

SHA_WORK void compress(uint32_t state[8], const uint8_t block[64]) {
    const uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
    chain c = {.abcd = abcd, .efgh = efgh};
    for (int i = 0; i < 4; i++) c.w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(block + 16 * i)));
    steps(&c, 1);
    vst1q_u32(state, vaddq_u32(c.abcd, abcd));
    vst1q_u32(state + 4, vaddq_u32(c.efgh, efgh));
}

// Compresses the padded digest whose words are in w[0] and w[1], starting from the given state.
SHA_INLINE void compress_digests(chain *chains, const int count, uint32x4_t abcd, uint32x4_t efgh) {
    for (int lane = 0; lane < count; lane++) {
        chains[lane].abcd = abcd;
        chains[lane].efgh = efgh;
        chains[lane].w[2] = vsetq_lane_u32(csha2_padding, vdupq_n_u32(0), 0);
        chains[lane].w[3] = vsetq_lane_u32(csha2_bits, vdupq_n_u32(0), 3);
    }
    steps(chains, count);
    for (int lane = 0; lane < count; lane++) {
        chains[lane].w[0] = vaddq_u32(chains[lane].abcd, abcd);
        chains[lane].w[1] = vaddq_u32(chains[lane].efgh, efgh);
    }
}

SHA_INLINE void rounds_of(const int count, const uint32_t inner[8], const uint32_t outer[8],
                          uint32_t *u, uint32_t *total, uint32_t rounds) {
    const uint32x4_t inner_abcd = vld1q_u32(inner), inner_efgh = vld1q_u32(inner + 4);
    const uint32x4_t outer_abcd = vld1q_u32(outer), outer_efgh = vld1q_u32(outer + 4);
    chain chains[2];
    uint32x4_t sums[2][2];
    for (int lane = 0; lane < count; lane++) {
        for (int half = 0; half < 2; half++) {
            chains[lane].w[half] = vld1q_u32(u + 8 * lane + 4 * half);
            sums[lane][half] = vld1q_u32(total + 8 * lane + 4 * half);
        }
    }
    for (uint32_t round = 0; round < rounds; round++) {
        compress_digests(chains, count, inner_abcd, inner_efgh);
        compress_digests(chains, count, outer_abcd, outer_efgh);
        for (int lane = 0; lane < count; lane++) {
            sums[lane][0] = veorq_u32(sums[lane][0], chains[lane].w[0]);
            sums[lane][1] = veorq_u32(sums[lane][1], chains[lane].w[1]);
        }
    }
    for (int lane = 0; lane < count; lane++) {
        for (int half = 0; half < 2; half++) {
            vst1q_u32(u + 8 * lane + 4 * half, chains[lane].w[half]);
            vst1q_u32(total + 8 * lane + 4 * half, sums[lane][half]);
        }
    }
}

SHA_WORK void run(const uint32_t inner[8], const uint32_t outer[8], uint32_t *u, uint32_t *total,
                  unsigned blocks, uint32_t rounds) {
    if (blocks == 2)
        rounds_of(2, inner, outer, u, total, rounds);
    else
        rounds_of(1, inner, outer, u, total, rounds);
}

void csha2_compress(uint32_t state[8], const uint8_t block[64]) {
    compress(state, block);
    csha2_clear();
}

void csha2_pbkdf2_rounds(const uint32_t inner[8], const uint32_t outer[8], uint32_t *u,
                         uint32_t *total, unsigned blocks, uint32_t rounds) {
    run(inner, outer, u, total, blocks, rounds);
    csha2_clear();
}

#endif
