#if defined(__x86_64__)

#include "CSHA2.h"
#include "clear.h"
#include "constants.h"

#include <cpuid.h>
#include <immintrin.h>

#define SHA_TARGET __attribute__((target("sha,sse4.1")))
#define SHA_WORK __attribute__((noinline)) static SHA_TARGET
#define SHA_INLINE static inline __attribute__((target("sha,sse4.1"), always_inline))

bool csha2_available(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSSE3) || !(c & bit_SSE4_1)) return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

// The working variables in the order that the instructions take, and the message schedule window.
typedef struct {
    __m128i abef, cdgh;
    __m128i w[4];
    // The first four words with their constants added, in pairs.
    __m128i start[2];
} chain;

SHA_INLINE __m128i next_words(const __m128i w[4], int i) {
    __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w[i & 3], w[(i + 1) & 3]),
                                _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4));
    return _mm_sha256msg2_epu32(sum, w[(i + 3) & 3]);
}

// The 64 steps, four at a time, for each chain in turn so that one computes while the other waits. For a
// single chain, the words are computed four groups ahead, so that they delay no step; two chains fill each
// other's gaps and run faster with fewer words in registers.
SHA_INLINE void steps(chain *chains, const int count) {
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; i++) {
        const __m128i k = _mm_load_si128((const __m128i *)&csha2_k[4 * i]);
#pragma clang loop unroll(full)
        for (int lane = 0; lane < count; lane++) {
            chain *c = &chains[lane];
            if (count > 1 && i >= 4) c->w[i & 3] = next_words(c->w, i);
            const __m128i wk = _mm_add_epi32(c->w[i & 3], k);
            const __m128i first = i == 0 ? c->start[0] : wk;
            const __m128i second = i == 0 ? c->start[1] : _mm_shuffle_epi32(wk, 0x0e);
            c->cdgh = _mm_sha256rnds2_epu32(c->cdgh, c->abef, first);
            if (count == 1 && i < 12) c->w[i & 3] = next_words(c->w, i);
            c->abef = _mm_sha256rnds2_epu32(c->abef, c->cdgh, second);
        }
    }
}

SHA_INLINE void set_start(chain *c) {
    c->start[0] = _mm_add_epi32(c->w[0], _mm_load_si128((const __m128i *)csha2_k));
    c->start[1] = _mm_shuffle_epi32(c->start[0], 0x0e);
}

SHA_INLINE __m128i load_abef(const uint32_t *s) { return _mm_set_epi32(s[0], s[1], s[4], s[5]); }
SHA_INLINE __m128i load_cdgh(const uint32_t *s) { return _mm_set_epi32(s[2], s[3], s[6], s[7]); }

// Converts the instructions' order to the words' order: ABEF and CDGH to ABCD and EFGH.
SHA_INLINE __m128i first_words(__m128i abef, __m128i cdgh) {
    return _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(abef), _mm_castsi128_ps(cdgh), 0xbb));
}

SHA_INLINE __m128i last_words(__m128i abef, __m128i cdgh) {
    return _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(abef), _mm_castsi128_ps(cdgh), 0x11));
}

SHA_INLINE void store_words(uint32_t *s, __m128i abef, __m128i cdgh) {
    _mm_storeu_si128((__m128i *)s, first_words(abef, cdgh));
    _mm_storeu_si128((__m128i *)(s + 4), last_words(abef, cdgh));
}

SHA_WORK void compress(uint32_t state[8], const uint8_t block[64]) {
    const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const __m128i abef = load_abef(state), cdgh = load_cdgh(state);
    chain c = {.abef = abef, .cdgh = cdgh};
    for (int i = 0; i < 4; i++)
        c.w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(block + 16 * i)), order);
    set_start(&c);
    steps(&c, 1);
    store_words(state, _mm_add_epi32(c.abef, abef), _mm_add_epi32(c.cdgh, cdgh));
}

// Compresses the padded digest whose words are in w[0], w[1] and start, starting from the given state.
//
// Everything waits for the last step's result, so the next block's first words take a shorter path: the state
// and the constants are added to them together, in parallel with the digest instead of after it.
SHA_INLINE void compress_digests(chain *chains, const int count, __m128i abef, __m128i cdgh) {
    const __m128i k01 = _mm_set_epi32(0, 0, csha2_k[1], csha2_k[0]);
    const __m128i k23 = _mm_set_epi32(0, 0, csha2_k[3], csha2_k[2]);
    const __m128i abef_k = _mm_add_epi32(_mm_shuffle_epi32(abef, 0x1b), k01);
    const __m128i cdgh_k = _mm_add_epi32(_mm_shuffle_epi32(cdgh, 0x1b), k23);
    for (int lane = 0; lane < count; lane++) {
        chains[lane].abef = abef;
        chains[lane].cdgh = cdgh;
        chains[lane].w[2] = _mm_set_epi32(0, 0, 0, csha2_padding);
        chains[lane].w[3] = _mm_set_epi32(csha2_bits, 0, 0, 0);
    }
    steps(chains, count);
    for (int lane = 0; lane < count; lane++) {
        chain *c = &chains[lane];
        c->start[0] = _mm_add_epi32(_mm_shuffle_epi32(c->abef, 0x1b), abef_k);
        c->start[1] = _mm_add_epi32(_mm_shuffle_epi32(c->cdgh, 0x1b), cdgh_k);
        c->abef = _mm_add_epi32(c->abef, abef);
        c->cdgh = _mm_add_epi32(c->cdgh, cdgh);
        c->w[0] = first_words(c->abef, c->cdgh);
        c->w[1] = last_words(c->abef, c->cdgh);
    }
}

SHA_INLINE void rounds_of(const int count, const uint32_t inner[8], const uint32_t outer[8],
                          uint32_t *u, uint32_t *total, uint32_t rounds) {
    const __m128i inner_abef = load_abef(inner), inner_cdgh = load_cdgh(inner);
    const __m128i outer_abef = load_abef(outer), outer_cdgh = load_cdgh(outer);
    chain chains[2];
    __m128i sums[2][2];
    for (int lane = 0; lane < count; lane++) {
        chains[lane].w[0] = _mm_loadu_si128((const __m128i *)(u + 8 * lane));
        chains[lane].w[1] = _mm_loadu_si128((const __m128i *)(u + 8 * lane + 4));
        set_start(&chains[lane]);
        sums[lane][0] = _mm_loadu_si128((const __m128i *)(total + 8 * lane));
        sums[lane][1] = _mm_loadu_si128((const __m128i *)(total + 8 * lane + 4));
    }
    for (uint32_t round = 0; round < rounds; round++) {
        compress_digests(chains, count, inner_abef, inner_cdgh);
        compress_digests(chains, count, outer_abef, outer_cdgh);
        for (int lane = 0; lane < count; lane++) {
            sums[lane][0] = _mm_xor_si128(sums[lane][0], chains[lane].w[0]);
            sums[lane][1] = _mm_xor_si128(sums[lane][1], chains[lane].w[1]);
        }
    }
    for (int lane = 0; lane < count; lane++) {
        _mm_storeu_si128((__m128i *)(u + 8 * lane), chains[lane].w[0]);
        _mm_storeu_si128((__m128i *)(u + 8 * lane + 4), chains[lane].w[1]);
        _mm_storeu_si128((__m128i *)(total + 8 * lane), sums[lane][0]);
        _mm_storeu_si128((__m128i *)(total + 8 * lane + 4), sums[lane][1]);
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
