/*
 * Notes guesses: a library for LD_PRELOAD that notes every comparison of a passcode with that of the vault before it is
 * made, and kills the program around it or around the derivation. Used by guess_schedules.py together with faultshim.c.
 *
 *     cc -O2 -fPIC -shared -o guesscount.so guesscount.c -ldl -pthread
 *     GC_KEYBAG=/home/of/vault/keybag GC_LOG=/a/file LD_PRELOAD=./guesscount.so program …
 *
 * A passcode is compared by its tag: CRYPTO_memcmp with 32 bytes of which one side stands in the keybag, and not as the
 * tag of one of its slots. Each appends a line to GC_LOG: "r" when the sides are equal, else "w" and the other side in
 * hexadecimal. A class key that is opened, by crypto_aead_xchacha20poly1305_ietf_decrypt of bytes of the keybag, is "u":
 * that must happen with the right passcode alone. The derivation is "d"; it evaluates nothing.
 *
 * With GC_KILL the program is ended by the signal GC_SIGNAL, 9 unless said, at one of these places: derive-before,
 * derive-inside, derive-after; before or after the comparison of the passcode that was given; settle-before or
 * settle-after that of one which an earlier process left pending.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SLOT = 4096, TAG = 32 };

/* Raw calls everywhere: they are not among those that faultshim counts. */

static void note(const char *line, size_t length)
{
    const char *path = getenv("GC_LOG");
    if (!path)
        return;
    long log = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (log < 0 || syscall(SYS_write, log, line, length) != (long)length)
        _exit(97);
    syscall(SYS_close, log);
}

static void end_by_signal(void)
{
    const char *number = getenv("GC_SIGNAL");
    for (;;)
        syscall(SYS_kill, syscall(SYS_getpid), number ? atoi(number) : SIGKILL);
}

static void end_at(const char *place)
{
    const char *fatal = getenv("GC_KILL");
    if (fatal && strcmp(fatal, place) == 0)
        end_by_signal();
}

/* Whether these bytes stand in the keybag, in front of a slot's tag. */
static int is_in_keybag(const void *bytes, size_t length)
{
    unsigned char slots[2 * SLOT];
    const char *path = getenv("GC_KEYBAG");
    long file = path ? syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return 0;
    long count = syscall(SYS_read, file, slots, sizeof slots);
    syscall(SYS_close, file);
    for (long start = 0; start + SLOT <= count; start += SLOT)
        if (memmem(slots + start, SLOT - TAG, bytes, length))
            return 1;
    return 0;
}

int CRYPTO_memcmp(const void *a, const void *b, size_t length)
{
    static __typeof__(CRYPTO_memcmp) *real;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "CRYPTO_memcmp");
    if (!real)
        _exit(97);
    static const unsigned char none[TAG];
    int is_given = length == TAG && memcmp(a, none, TAG) && is_in_keybag(a, TAG);
    int is_pending = length == TAG && !is_given && memcmp(b, none, TAG) && is_in_keybag(b, TAG);
    if (!is_given && !is_pending)
        return real(a, b, length);
    char line[2 * TAG + 2] = "r\n";
    const unsigned char *guess = is_given ? b : a;
    size_t used = 2;
    if (memcmp(a, b, TAG)) {
        line[0] = 'w';
        used = 1;
        for (int i = 0; i < TAG; i++) {
            line[used++] = "0123456789abcdef"[guess[i] >> 4];
            line[used++] = "0123456789abcdef"[guess[i] & 15];
        }
        line[used++] = '\n';
    }
    note(line, used);
    end_at(is_given ? "before" : "settle-before");
    int result = real(a, b, length);
    end_at(is_given ? "after" : "settle-after");
    return result;
}

int crypto_aead_xchacha20poly1305_ietf_decrypt(
    unsigned char *m, unsigned long long *m_length, unsigned char *nothing, const unsigned char *c,
    unsigned long long c_length, const unsigned char *ad, unsigned long long ad_length, const unsigned char *nonce,
    const unsigned char *key)
{
    static __typeof__(crypto_aead_xchacha20poly1305_ietf_decrypt) *real;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "crypto_aead_xchacha20poly1305_ietf_decrypt");
    if (!real)
        _exit(97);
    if (is_in_keybag(c, c_length))
        note("u\n", 2);
    return real(m, m_length, nothing, c, c_length, ad, ad_length, nonce, key);
}

/* Ends the program in the middle of a derivation, which takes longer than this. */
static void *end_soon(void *unused)
{
    (void)unused;
    struct timespec wait = {0, 2000000};
    nanosleep(&wait, NULL);
    end_by_signal();
    return NULL;
}

int crypto_pwhash_argon2id(unsigned char *out, unsigned long long outlen, const char *passwd,
                           unsigned long long passwdlen, const unsigned char *salt, unsigned long long opslimit,
                           size_t memlimit, int alg)
{
    static __typeof__(crypto_pwhash_argon2id) *real;
    const char *fatal = getenv("GC_KILL");
    pthread_t thread;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "crypto_pwhash_argon2id");
    if (!real)
        _exit(97);
    note("d\n", 2);
    end_at("derive-before");
    if (fatal && strcmp(fatal, "derive-inside") == 0 && pthread_create(&thread, NULL, end_soon, NULL) != 0)
        _exit(97);
    int result = real(out, outlen, passwd, passwdlen, salt, opslimit, memlimit, alg);
    end_at("derive-after");
    return result;
}
