/*
 * Counts guesses: a library for LD_PRELOAD that notes every key derivation from a passcode before it is done. Used by
 * guess_schedules.py together with faultshim.c, which kills the program.
 *
 *     cc -O2 -fPIC -shared -o guesscount.so guesscount.c -ldl
 *     GC_LOG=/a/file LD_PRELOAD=./guesscount.so program …
 *
 * Each call of crypto_pwhash_argon2id appends one byte to GC_LOG: "b" before it is made and "e" when it has been, that
 * is when the guess can be judged. With GC_KILL=before or GC_KILL=after the program is killed there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void note(const char *what, const char *when)
{
    const char *path = getenv("GC_LOG"), *fatal = getenv("GC_KILL");
    /* Raw calls: they are not among those that faultshim counts. */
    if (path) {
        long log = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        if (log < 0 || syscall(SYS_write, log, what, (size_t)1) != 1)
            _exit(97);
        syscall(SYS_close, log);
    }
    while (fatal && strcmp(fatal, when) == 0)
        syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
}

int crypto_pwhash_argon2id(unsigned char *out, unsigned long long outlen, const char *passwd,
                           unsigned long long passwdlen, const unsigned char *salt, unsigned long long opslimit,
                           size_t memlimit, int alg)
{
    static __typeof__(crypto_pwhash_argon2id) *real;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "crypto_pwhash_argon2id");
    if (!real)
        _exit(97);
    note("b", "before");
    int result = real(out, outlen, passwd, passwdlen, salt, opslimit, memlimit, alg);
    note("e", "after");
    return result;
}
