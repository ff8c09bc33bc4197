/* The clock on the wall of one program stands at WALL_TIME, in seconds since 1970; its other clocks go on.
 *
 *     cc -O2 -fPIC -shared -o walltime.so walltime.c -ldl
 *     WALL_TIME=2147483648 LD_PRELOAD=./walltime.so coffer status
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static int (*next)(clockid_t, struct timespec *);
    if (!next) next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = next(clock, time);
    const char *wall = getenv("WALL_TIME");
    if (result == 0 && clock == CLOCK_REALTIME && wall) {
        time->tv_sec = atoll(wall);
        time->tv_nsec = 0;
    }
    return result;
}
