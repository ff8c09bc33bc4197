/* Preloaded: a signal comes at a chosen moment, which ENDAT names:
 *
 *     mkdir    when a directory is made relative to another
 *     sync     when a file is first flushed
 *     link     when a file has got another name
 *     named    when a file is made under a name, because this library refuses files without one
 *
 *     cc -shared -fPIC -O2 -o endat.so endat.c
 *     LD_PRELOAD=./endat.so ENDAT=sync ENDAT_SIGNAL=9 coffer database convert ...
 */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* has an openat of its own */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int is_chosen(const char *moment)
{
    const char *chosen = getenv("ENDAT");

    return chosen != NULL && strcmp(chosen, moment) == 0;
}

static void end_at(const char *moment)
{
    const char *number = getenv("ENDAT_SIGNAL");

    if (number != NULL && is_chosen(moment)) {
        unsetenv("ENDAT");
        raise(atoi(number));
    }
}

int mkdirat(int directory, const char *name, mode_t mode)
{
    static int (*next)(int, const char *, mode_t);
    int result;

    if (next == NULL)
        next = (int (*)(int, const char *, mode_t))dlsym(RTLD_NEXT, "mkdirat");
    result = next(directory, name, mode);
    if (result == 0)
        end_at("mkdir");
    return result;
}

int linkat(int from, const char *old, int to, const char *name, int flags)
{
    int (*next)(int, const char *, int, const char *, int) =
        (int (*)(int, const char *, int, const char *, int))dlsym(RTLD_NEXT, "linkat");
    int result = next(from, old, to, name, flags);

    if (result == 0)
        end_at("link");
    return result;
}

int openat(int directory, const char *name, int flags, ...)
{
    static int refused;
    int (*next)(int, const char *, int, ...) =
        (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat");
    int is_unnamed = (flags & O_TMPFILE) == O_TMPFILE;
    mode_t mode = 0;
    va_list rest;
    int result;

    if ((flags & O_CREAT) != 0 || is_unnamed) {
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    if (is_unnamed && is_chosen("named")) {
        refused = 1;
        errno = EOPNOTSUPP;
        return -1;
    }
    result = next(directory, name, flags, mode);
    if (result >= 0 && refused && (flags & O_EXCL) != 0)
        end_at("named");
    return result;
}

static int flush(const char *name, int file)
{
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);

    end_at("sync");
    return next(file);
}

int fsync(int file)
{
    return flush("fsync", file);
}

int fdatasync(int file)
{
    return flush("fdatasync", file);
}
