/* What the test programs share. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coffer.h"

/* Ends the program if a condition does not hold. */
#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);       \
            exit(1);                                                              \
        }                                                                         \
    } while (0)

/* Ends the program if a call does not give the expected result. */
#define EXPECT(expected, call)                                                    \
    do {                                                                          \
        coffer_error error = COFFER_ERROR_INIT;                                   \
        int result = (call);                                                      \
        if (result != (expected) || error.code != result) {                       \
            fprintf(stderr, "%s:%d: %s gave %d (%s: %s)\n", __FILE__, __LINE__,   \
                    #call, result, error.name, error.message);                    \
            exit(1);                                                              \
        }                                                                         \
    } while (0)

static inline const uint8_t *bytes_of(const char *text) { return (const uint8_t *)text; }

/* Whether the bytes are this text. */
static inline int is_text(const coffer_bytes *bytes, const char *text) {
    return coffer_bytes_length(bytes) == strlen(text)
        && memcmp(coffer_bytes_data(bytes), text, strlen(text)) == 0;
}

/* Whether the bytes, which end with a NUL byte, contain this text. */
static inline int has_text(const coffer_bytes *bytes, const char *text) {
    return strstr((const char *)coffer_bytes_data(bytes), text) != NULL;
}

/* Creates a vault with a passcode at the lowest cost. */
static inline coffer_vault *create_vault(const char *home, const char *passcode, uint32_t flags) {
    coffer_create_options options;
    coffer_vault *vault = NULL;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.flags = flags;
    options.kdf_memory_mib = 8;
    options.kdf_passes = 2;
    EXPECT(COFFER_OK,
           coffer_create(home, NULL, bytes_of(passcode), strlen(passcode), &options, &vault, &error));
    CHECK(vault != NULL);
    return vault;
}

#endif
