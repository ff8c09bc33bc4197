/* Preloaded: makes every call to the kernel's keyrings fail, as in containers that forbid them or kernels
 * that have none.
 *
 *     cc -shared -fPIC -O2 -o nokeyring.so nokeyring.c
 *     NOKEYRING=ENOSYS LD_PRELOAD=./nokeyring.so coffer unlock
 *
 * NOKEYRING is EPERM (the default), EACCES or ENOSYS; KEEP: everything works but taking keys away; QUOTA: no key can be
 * added, as with a used up quota; or ALMOST: none but the mark of an unlock.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/keyctl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

static int is_mode(const char *mode)
{
    const char *name = getenv("NOKEYRING");
    return name != NULL && strcmp(name, mode) == 0;
}

static int is_refused(long number, long operation, const char *description)
{
    const char *name = getenv("NOKEYRING");
    if (is_mode("QUOTA") || is_mode("ALMOST"))
        return number == SYS_add_key && (is_mode("QUOTA") || strstr(description, ":unlocking:") == NULL);
    if (name == NULL || strcmp(name, "KEEP") != 0)
        return number == SYS_add_key || number == SYS_request_key || number == SYS_keyctl;
    return number == SYS_keyctl && (operation == KEYCTL_INVALIDATE || operation == KEYCTL_REVOKE
                                    || operation == KEYCTL_UNLINK);
}

static int failure(void)
{
    if (is_mode("ENOSYS"))
        return ENOSYS;
    if (is_mode("EACCES"))
        return EACCES;
    return is_mode("QUOTA") || is_mode("ALMOST") ? EDQUOT : EPERM;
}

long syscall(long number, ...)
{
    static long (*next)(long, ...);
    va_list list;
    long arguments[6];

    va_start(list, number);
    for (int index = 0; index < 6; index++)
        arguments[index] = va_arg(list, long);
    va_end(list);
    if (is_refused(number, arguments[0], (const char *)arguments[1])) {
        errno = failure();
        return -1;
    }
    if (next == NULL)
        next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}
