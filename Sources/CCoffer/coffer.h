/* Coffer for programs that are not written in Swift: vaults, tokens and files in C.
 *
 * Link with -lcoffer (pkg-config coffer). The library is for Linux, C99 and C++.
 *
 * Every function that returns int returns COFFER_OK or another COFFER_ value, the exit code that the
 * command coffer has for the same failure. If its last argument is not NULL, the function describes the
 * failure there.
 *
 * Threads. Every function may be called from any thread, also with the same handle at the same time. A
 * call blocks its thread until the result is there or the deadline has passed: see coffer_set_timeout.
 *
 * fork. A child process that was forked after the first call gets COFFER_FORKED from every function that
 * returns int but coffer_abi_version, and NULL or 0 from the functions about bytes: the threads that do the
 * work are not in the child, and what they held stays locked there. Call exec in the child, or fork before
 * the first call.
 *
 * Handles. A coffer_vault, coffer_bytes or coffer_refresh is a number in the form of a pointer, which
 * points nowhere and is never used twice. A handle that was closed or freed before, or is of another kind,
 * or was invented, is refused with COFFER_INVALID_INPUT; freeing it does nothing.
 *
 * Text is UTF-8 and ends with a NUL byte. Times are seconds since 1970-01-01 UTC.
 *
 * The names and values here do not change. New functions are added, and new members at the ends of the
 * structures, whose first member states the size that the caller was compiled with. */
#ifndef COFFER_H
#define COFFER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. It is raised when functions are added. */
#define COFFER_ABI_VERSION 1

#define COFFER_OK 0
/* Any failure without a value of its own; the name in coffer_error says which. */
#define COFFER_FAILED 1
/* There is no such item. */
#define COFFER_ABSENT 3
/* The vault, or the keyring, is locked. */
#define COFFER_LOCKED 4
/* The passcode is wrong: coffer_error has the number of attempts left. */
#define COFFER_WRONG_PASSCODE 5
/* The vault was wiped. */
#define COFFER_WIPED 6
/* Stored data is damaged, not authentic, of another vault, of a newer release, or an older copy. */
#define COFFER_CORRUPT 7
#define COFFER_KEYRING_UNAVAILABLE 8
/* The deadline passed. The work may still take effect afterwards. */
#define COFFER_TIMED_OUT 9
/* Another version is stored than the expected one. */
#define COFFER_CONFLICT 10
/* A policy forbids this, or an attempt came too soon after a wrong passcode. */
#define COFFER_REFUSED 11
/* There is no vault at this place. */
#define COFFER_NOT_INITIALISED 12
#define COFFER_ALREADY_EXISTS 13
/* An argument is invalid: a handle, NULL where something is needed, a size, text that is not UTF-8. */
#define COFFER_INVALID_INPUT 64
/* Another program holds what is needed: try again. */
#define COFFER_BUSY 75
/* This process was forked from one that had used the library. */
#define COFFER_FORKED 100

/* An open vault. */
typedef struct coffer_vault coffer_vault;
/* Bytes that a function returned, in memory that is locked if the limit allows it, not part of core dumps,
 * and cleared by coffer_bytes_free. */
typedef struct coffer_bytes coffer_bytes;
/* The right to renew a token. */
typedef struct coffer_refresh coffer_refresh;

/* What failed. Set size to sizeof(coffer_error) before the first call; no other member has to be set. */
typedef struct coffer_error {
    size_t size;
    /* One of the values above. */
    int32_t code;
    /* With COFFER_WRONG_PASSCODE, the attempts left before everything is erased; otherwise -1. */
    int32_t attempts_left;
    /* After a wrong passcode, the time to wait before another attempt in milliseconds; otherwise -1. */
    int64_t retry_after_ms;
    /* The kind of failure in one word, such as "locked", which does not change between releases. Empty
     * after success. */
    char name[64];
    /* Sentences for the user, without secrets; cut at the end if they are too long. */
    char message[1024];
} coffer_error;

/* The initial value of a coffer_error. */
#define COFFER_ERROR_INIT { sizeof(coffer_error), 0, -1, -1, { 0 }, { 0 } }

/* ---- Versions ---- */

/* The release, such as "0.1.0". The text stays valid. */
const char *coffer_version(void);
/* The version of the interface that this library has: at least the caller's COFFER_ABI_VERSION. */
int coffer_abi_version(void);
/* A JSON object that describes the library: name, version, abiVersion, features. */
int coffer_info(coffer_bytes **json, coffer_error *error);

/* ---- Bytes ---- */

/* The first of the bytes, which stay valid until coffer_bytes_free; NULL if the handle is invalid. One NUL
 * byte, which is not counted, follows the last. */
const uint8_t *coffer_bytes_data(const coffer_bytes *bytes);
/* The number of bytes; 0 if the handle is invalid. */
size_t coffer_bytes_length(const coffer_bytes *bytes);
/* Clears and frees the bytes. Does nothing if the handle is NULL or invalid. */
void coffer_bytes_free(coffer_bytes *bytes);

/* ---- Vaults ----
 *
 * home is the vault's directory; NULL is the default of the command coffer, whatever COFFER_HOME says. user
 * is NULL, or the name of a user who has a vault of their own below home. */

/* How coffer_create makes a vault. Set size to sizeof(coffer_create_options), and what is not needed to 0. */
typedef struct coffer_create_options {
    size_t size;
    /* COFFER_CREATE_ values, added. */
    uint32_t flags;
    /* The time without use after which the vault locks, in seconds; 0 is ten minutes. */
    uint32_t inactivity_seconds;
    /* The cost of a guess at the passcode (Argon2id, RFC 9106): memory in MiB and passes; 0 is the
     * default. */
    uint32_t kdf_memory_mib;
    uint32_t kdf_passes;
} coffer_create_options;

/* Wrong passcodes never erase the vault. Without this, the tenth does. */
#define COFFER_CREATE_NEVER_ERASE 1u
/* New items can be restored on another device from a backup. */
#define COFFER_CREATE_MOVABLE 2u
/* The vault never locks by itself. */
#define COFFER_CREATE_NO_INACTIVITY_LOCK 4u

/* Creates a vault, which is then unlocked. With NULL and 0 for the passcode, it has none, and anyone who
 * can read its directory can read its items. options may be NULL. */
int coffer_create(
    const char *home, const char *user, const uint8_t *passcode, size_t length,
    const coffer_create_options *options, coffer_vault **vault, coffer_error *error);
/* Opens a vault, which is then locked. */
int coffer_open(const char *home, const char *user, coffer_vault **vault, coffer_error *error);
/* Unlocks a vault. With NULL and 0 for the passcode, by keys that the command "coffer unlock" left in the
 * kernel's keyring, or without a passcode if the vault has none. Every wrong passcode counts. */
int coffer_unlock(coffer_vault *vault, const uint8_t *passcode, size_t length, coffer_error *error);
/* Unlocks a vault with the first line of a file descriptor, which is closed in any case. */
int coffer_unlock_fd(coffer_vault *vault, int fd, coffer_error *error);
/* Removes the keys from memory. The handle stays open. */
int coffer_lock(coffer_vault *vault, coffer_error *error);
/* Sets answer to 1 if the vault is unlocked, and to 0 if it is locked. */
int coffer_is_unlocked(coffer_vault *vault, int *answer, coffer_error *error);
/* Changes the passcode of a vault. NULL and 0 stand for no passcode, before or afterwards. */
int coffer_change_passcode(
    coffer_vault *vault, const uint8_t *old, size_t old_length, const uint8_t *passcode, size_t length,
    coffer_error *error);
/* Sets the deadline of each call with this handle in milliseconds, 1 to 86400000; the default is 60
 * seconds. With NULL, sets it for calls without a handle and for handles that are opened later. */
int coffer_set_timeout(coffer_vault *vault, uint32_t milliseconds, coffer_error *error);
/* Asks the calls that run with this handle to stop, which then fail with the name "cancelled". */
int coffer_cancel(coffer_vault *vault, coffer_error *error);
/* Removes the keys from memory and closes the handle. Calls that other threads make with it at that moment
 * end by themselves. */
int coffer_close(coffer_vault *vault);
/* A JSON object that describes the vault at this place, also if it is locked or wiped. */
int coffer_status(const char *home, const char *user, coffer_bytes **json, coffer_error *error);
/* Locks the vault at this place for all programs. Needs no readable file. */
int coffer_lock_at(const char *home, const char *user, coffer_error *error);
/* Erases the vault at this place with everything in it, also if it is locked or damaged. This cannot be
 * undone. receipt may be NULL; otherwise, it is a JSON object about what was removed. Once begun, a wipe
 * continues after the deadline, and the next program that opens the vault completes it if this process
 * ends. */
int coffer_wipe(const char *home, const char *user, coffer_bytes **receipt, coffer_error *error);

/* ---- Tokens ----
 *
 * A token has a service of 1 to 1024 bytes, an account of 0 to 1024 bytes, and a kind: "access" (which NULL
 * stands for), "refresh", "id" or "other". */

/* How coffer_token_put stores a token. Set size to sizeof(coffer_token_options), and what is not needed to
 * 0. */
typedef struct coffer_token_options {
    size_t size;
    /* The protection class, such as "whenUnlocked"; NULL is the vault's default, or that of the stored
     * token. */
    const char *protection_class;
    /* When the token expires; 0 is never. */
    double expires;
    /* Scopes, separated by spaces; NULL keeps those of the stored token. */
    const char *scopes;
    /* A label for the user; NULL keeps that of the stored token. */
    const char *label;
    /* COFFER_TOKEN_ values, added. */
    uint32_t flags;
    /* With COFFER_TOKEN_IF_VERSION, the version that must be stored. */
    uint64_t version;
} coffer_token_options;

/* Store the token only if none has this name. */
#define COFFER_TOKEN_IF_ABSENT 1u
/* Store the token only in place of the given version. */
#define COFFER_TOKEN_IF_VERSION 2u
/* Keep the token in memory only, until the vault is locked. */
#define COFFER_TOKEN_VOLATILE 4u

/* Stores a token of at most 1 MiB. It is on the disk when the function returns. options may be NULL.
 * version may be NULL; it is 0 for a token that a locked vault keeps until it is unlocked. */
int coffer_token_put(
    coffer_vault *vault, const char *service, const char *account, const char *kind, const uint8_t *token,
    size_t length, const coffer_token_options *options, uint64_t *version, coffer_error *error);
/* Reads a token. Expired tokens are returned, too: see coffer_token_info. */
int coffer_token_get(
    coffer_vault *vault, const char *service, const char *account, const char *kind, coffer_bytes **token,
    coffer_error *error);
/* A JSON object with what is known of a token but its value: service, account, kind, class, version,
 * stored, scopes, attributes, and expires, isVolatile, isStoredWhileLocked where they apply. */
int coffer_token_info(
    coffer_vault *vault, const char *service, const char *account, const char *kind, coffer_bytes **json,
    coffer_error *error);
/* A JSON array of such objects for all tokens, in no particular order. */
int coffer_token_list(coffer_vault *vault, coffer_bytes **json, coffer_error *error);
/* Removes a token. COFFER_ABSENT if there is none. */
int coffer_token_remove(
    coffer_vault *vault, const char *service, const char *account, const char *kind, coffer_error *error);

/* Begins to renew a token at its issuer. Only one program on this machine renews a token at a time; the
 * others wait here until the deadline. Sets token to the present value. Sets refresh to NULL if another
 * program has just renewed the token, which is then in token; otherwise to a handle, which must end in
 * exactly one of the three functions below, within timeout_ms milliseconds, 1 to 3600000. */
int coffer_refresh_begin(
    coffer_vault *vault, const char *service, const char *account, const char *kind, uint32_t timeout_ms,
    coffer_refresh **refresh, coffer_bytes **token, coffer_error *error);
/* Stores the new token, which the issuer gave. expires is 0 for never. Frees the handle in any case. If
 * the vault was locked meanwhile, the token is kept for the next unlock, and the result is COFFER_LOCKED. */
int coffer_refresh_commit(
    coffer_refresh *refresh, const uint8_t *token, size_t length, double expires, coffer_error *error);
/* Ends without a new token. The old one stays. Frees the handle. */
int coffer_refresh_abandon(coffer_refresh *refresh, coffer_error *error);
/* The issuer said that the token was revoked: removes everything of the token's account. Frees the handle. */
int coffer_refresh_revoked(coffer_refresh *refresh, coffer_error *error);

/* ---- Files ----
 *
 * A stored file has an id of 36 characters, and a name of 1 to 255 bytes without a slash. */

/* Stores a file from memory. id receives 36 characters and a NUL byte. */
int coffer_file_add(
    coffer_vault *vault, const char *name, const uint8_t *content, size_t length, char id[37],
    coffer_error *error);
/* Stores a copy of a file on disk under its own name, and leaves the original. */
int coffer_file_add_path(coffer_vault *vault, const char *path, char id[37], coffer_error *error);
/* Reads at most size bytes at an offset into the caller's buffer. Sets count to their number, which is
 * less only at the end of the file. */
int coffer_file_read_at(
    coffer_vault *vault, const char *id, uint64_t offset, uint8_t *buffer, size_t size, size_t *count,
    coffer_error *error);
/* A JSON array of objects: id, name, length, modified, class, state, isVolatile. */
int coffer_file_list(coffer_vault *vault, coffer_bytes **json, coffer_error *error);
/* Renames a stored file. */
int coffer_file_rename(coffer_vault *vault, const char *id, const char *name, coffer_error *error);
/* Removes a stored file. COFFER_ABSENT if there is none. */
int coffer_file_remove(coffer_vault *vault, const char *id, coffer_error *error);

#ifdef __cplusplus
}
#endif

#endif
