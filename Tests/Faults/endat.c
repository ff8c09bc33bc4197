/* Preloaded: a signal comes at a chosen moment, which ENDAT names:
 *
 *     mkdir    when a directory is made relative to another
 *     sync     when a file is first flushed
 *
 *     cc -shared -fPIC -O2 -o endat.so endat.c
 *     LD_PRELOAD=./endat.so ENDAT=sync ENDAT_SIGNAL=9 coffer database convert ...
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void end_at(const char *moment)
{
    const char *chosen = getenv("ENDAT");
    const char *number = getenv("ENDAT_SIGNAL");

    if (chosen != NULL && number != NULL && strcmp(chosen, moment) == 0) {
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
