/*
 * Sets clocks for one program: a library for LD_PRELOAD that adds WALL_SHIFT seconds, which may be negative, to
 * CLOCK_REALTIME, or lets it stand at WALL_TIME seconds since 1970, and adds BOOT_SHIFT seconds to CLOCK_BOOTTIME.
 * Every other clock is as it is. (libfaketime moves the environment, by which the Swift runtime finds a program's
 * arguments.)
 *
 *     cc -O2 -fPIC -shared -o wallclock.so wallclock.c -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    const char *shift = getenv("WALL_SHIFT");
    if (result == 0 && clock == CLOCK_REALTIME && shift)
        time->tv_sec += strtol(shift, NULL, 10);
    const char *boot = getenv("BOOT_SHIFT");
    if (result == 0 && clock == CLOCK_BOOTTIME && boot)
        time->tv_sec += strtol(boot, NULL, 10);
    const char *wall = getenv("WALL_TIME");
    if (result == 0 && clock == CLOCK_REALTIME && wall) {
        time->tv_sec = strtol(wall, NULL, 10);
        time->tv_nsec = 0;
    }
    return result;
}
