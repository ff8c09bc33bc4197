/* Preloaded: no two names can be exchanged, as on exFAT, NTFS3, CIFS and older FAT.
 *
 *     cc -shared -fPIC -O2 -o noexchange.so noexchange.c
 *     LD_PRELOAD=./noexchange.so coffer wipe --tokens --yes
 *
 * With NORENAMEFLAGS set, no name can be kept from being replaced either, as on NFS.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

long syscall(long number, ...)
{
    static long (*next)(long, ...);
    va_list list;
    long arguments[6];

    va_start(list, number);
    for (int index = 0; index < 6; index++)
        arguments[index] = va_arg(list, long);
    va_end(list);
    if (number == SYS_renameat2
        && ((arguments[4] & RENAME_EXCHANGE) != 0 || (arguments[4] != 0 && getenv("NORENAMEFLAGS") != NULL))) {
        errno = EINVAL;
        return -1;
    }
    if (next == NULL)
        next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}
